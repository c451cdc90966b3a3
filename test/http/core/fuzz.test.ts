import { expect } from "chai";

import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp } from "../../support/app/app.ts";
import {
  givenWorld,
  parametersOf,
  pathOf,
  queryKeys,
  rightful,
  sampleBody,
  sampleQuery,
  type Values,
  type World,
} from "../../support/app/world.ts";

const app = await startTestApp();

let world: World;
before(async () => {
  world = await givenWorld(app);
});

/** What turns up in fields sooner or later, wherever something else was expected. */
const oddities: readonly unknown[] = [
  null,
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "..",
  "../../etc/passwd",
  "-rf",
  "--upload-pack=touch /tmp/x",
  "refs/heads/../../x",
  "'; drop table app_user; --",
  "%00",
  "\ud800",
  "\u202egnp.exe",
  "аnna",
  "x".repeat(70_000),
  -1,
  1.5,
  2 ** 53,
  1e308,
  true,
  [],
  [null],
  [[]],
  ["a", "a"],
  {},
  { id: {} },
  { $ne: null },
  { toString: "x", constructor: { prototype: {} } },
  "9999-99-99",
  "2026-13-45T99:99:99Z",
  "http://[::1",
  "00000000-0000-0000-0000-000000000000",
];

const textOddities = oddities.filter((odd): odd is string => typeof odd === "string");

/** A whole round takes minutes: each field gets some, another field others; FUZZ=all gives all to all. */
const eachMax = process.env["FUZZ"] === "all" ? oddities.length : 6;
let turn = 0;

function some<Odd>(from: readonly Odd[]): readonly Odd[] {
  turn += eachMax;
  const count = Math.min(eachMax, from.length);
  return Array.from({ length: count }, (_, index) => from[(turn + index) % from.length] as Odd);
}

/** The example with one field replaced, for every field. */
function mutations(example: unknown): readonly unknown[] {
  if (typeof example !== "object" || example === null || Array.isArray(example))
    return some(oddities);
  const fields = Object.keys(example);
  const replaced = fields.flatMap((field) =>
    some(oddities).map((odd) => ({ ...example, [field]: odd })),
  );
  const left = fields.map((field) => ({ ...example, [field]: undefined }));
  return [...replaced, ...left, { ...example, extra: { deep: [{}] } }];
}

/** Many at once, none of them answered by a fault of ours. */
async function noFaults(route: Route, calls: readonly Readonly<{ at: string; body?: unknown }>[]) {
  const { token } = rightful(route, world);
  const method = route.method.toUpperCase();
  for (let start = 0; start < calls.length; start += 8) {
    const batch = calls.slice(start, start + 8).map(async ({ at, body }) => {
      const answer = await app.send(method, at, { token, ...(body === undefined ? {} : { body }) });
      const sent = `${method} ${at.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 300)}`;
      expect(answer.status, `${sent}: ${answer.text}`).to.be.lessThan(500);
    });
    await Promise.all(batch);
  }
}

/** The query of an example with one key replaced or added. */
function queryWith(route: Route, key: string, text: string): string {
  const query = new URLSearchParams(sampleQuery(route));
  query.set(key, text);
  return query.toString();
}

/** What would change who is calling, or take the ground from under the other cases. */
const spared = /^(?:post \/admin\/settings\/|put \/(?:user|admin\/user\/\{userAlias\})\/change-)/;

for (const route of routes) {
  const name = `${route.method} ${route.path}`;
  if (route.access === "basic" || spared.test(name)) continue;

  describe(`${name}, whatever it is sent,`, () => {
    // Nobody's: what succeeds by chance changes nothing that the next case needs.
    const values = (): Values =>
      route.method === "delete" ? { ...world.open, userUuid: "x" } : world.open;

    if (route.body !== undefined) {
      it("never fails by a body", async () => {
        const bodies = mutations(sampleBody(route));
        await noFaults(
          route,
          bodies.map((body) => ({ at: pathOf(route, values()), body: body ?? "null" })),
        );
      });
    }

    if (parametersOf(route).length > 0) {
      it("never fails by a path", async () => {
        const odd = textOddities
          .filter((text) => text.length < 1_000)
          // Clients resolve dot segments: it would be another path.
          .filter((text) => text !== "\ud800" && text !== "..");
        const paths = parametersOf(route).flatMap((parameter) =>
          some(odd).map((text) => pathOf(route, { ...values(), [parameter]: text })),
        );
        await noFaults(
          route,
          paths.map((at) => ({ at, body: sampleBody(route) })),
        );
      });
    }

    const keys = queryKeys(route);
    if (route.method === "get" || keys.length > 0) {
      it("never fails by a query", async () => {
        const at = pathOf(route, values());
        const odd = textOddities.filter((text) => text.length < 1_000);
        const queries = [...keys, "undeclared"].flatMap((key) =>
          some(odd).map((text) => `?${queryWith(route, key, text)}`),
        );
        const raw = ["?q=%", "?q=%ff%fe", "?q[]=a&q[b]=c", "?&&&==", "?q=a&q=b", "?__proto__[x]=1"];
        await noFaults(
          route,
          [...queries, ...raw].map((query) => ({ at: at + query, body: sampleBody(route) })),
        );
      });
    }
  });
}
