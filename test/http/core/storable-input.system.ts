import { expect } from "chai";

import type { Route } from "../../../src/http/core/route.ts";
import { registryTypes } from "../../../src/http/protocol/package/core/types.ts";
import { routes } from "../../../src/http/routes.ts";
import { callsTo } from "../../support/access/call.ts";
import { startTestApp } from "../../support/app/app.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";
import {
  givenWorld,
  parametersOf,
  rightful,
  sampleBody,
  type Values,
} from "../../support/app/world.ts";
import { repositoriesAt } from "../../support/client/registry.ts";
import { sampleOf } from "../../support/package/sample-path.ts";

const app = await startTestApp();
const world = await givenWorld(app);
const calls = callsTo(app);
const { anna, open } = world;
const at = repositoriesAt(app, "/project/anna/open/repositories", anna.token);

type Sent = Readonly<{ query?: string; values?: Values; body?: unknown; contentType?: string }>;

/** Each operation that applies answers so to what is sent to it by who may call it. */
async function eachAnswers(
  statuses: readonly number[],
  applies: (route: Route) => boolean,
  sent: (route: Route) => readonly Sent[],
): Promise<void> {
  const all = routes.filter(applies).flatMap((route) => {
    const by = { name: "who may call it", token: rightful(route, world).token };
    return sent(route).map((each) => ({ route, by, values: open, ...each }));
  });
  for (let start = 0; start < all.length; start += 16) {
    await Promise.all(all.slice(start, start + 16).map((call) => calls.answers(call, statuses)));
  }
}

const odd = ["\0", "a\0b"];
const takesJson = ({ access, form }: Route) => access !== "basic" && form !== true;
const isKnown = ({ access }: Route) => access !== "basic" && access !== "client";

describe("a text that no store can keep", () => {
  it("is refused in the query of every operation", () =>
    eachAnswers([422], isKnown, () => [{ query: "?q=%00" }, { query: "?q=a&a%00=b" }]));

  it("is no name in the path of any operation", () =>
    eachAnswers([404], isKnown, (route) =>
      parametersOf(route).map((name) => ({ values: { ...open, [name]: "a\0b" } })),
    ));

  it("is refused in the body of every operation, as a text, deep within, and as a name", () =>
    eachAnswers(
      [422],
      (route) => isKnown(route) && takesJson(route) && route.body !== undefined,
      (route) => {
        const body = sampleBody(route) as object;
        return [
          { body: { ...body, odd: odd[1] } },
          { body: { ...body, odd: [{ odd: "\ud800" }] } },
          { body: { ...body, [`${odd[1]}`]: 1 } },
        ];
      },
    ));

  it("is refused in every form", () =>
    eachAnswers(
      [400, 401, 422],
      ({ form }) => form === true,
      () => [{ body: "token=%00", contentType: "application/x-www-form-urlencoded" }],
    ));
});

describe("a text that no store can keep, at the native paths of packages", () => {
  const headers = { authorization: basicAuth("anna", anna.token) };
  const names = ["q", "id", "text", "per_page", "type", "version", "take", "prerelease"];
  const query = names.map((name) => `${name}=%00`).join("&");
  /** Those that read a query. */
  const searches = /^(?:search-(?!conan-packages)|autocomplete|upload-composer)/;

  for (const [type, { calls: ofType }] of registryTypes) {
    it(`finds nothing and breaks nothing: ${type}`, async () => {
      await at.local(type, type, { hasAnonymousAccess: true });
      const base = `${app.url}/registry/project/anna/open/repository/${type}`;
      for (const { method, path, operationId } of ofType) {
        const url = `${base}/${sampleOf(path)}`;
        const found = await fetch(`${url}?${query}`, { method, headers });
        const expected = searches.test(operationId)
          ? [422]
          : [200, 201, 204, 301, 400, 403, 404, 405, 409, 422];
        expect(expected, `${method} ${url}: ${await found.text()}`).to.include(found.status);
        const nowhere = await fetch(`${url}%00`, { method, headers });
        expect(nowhere.status, `${method} ${url}%00`).to.equal(404);
      }
    });
  }
});
