import { expect } from "chai";

import { neededRole } from "../../src/http/access/access.ts";
import type { Route } from "../../src/http/core/route.ts";
import { routes } from "../../src/http/routes.ts";
import { type Answer, startTestApp } from "../support/app/app.ts";
import {
  givenWorld,
  parametersOf,
  pathOf,
  sampleBody,
  type Values,
  type World,
} from "../support/app/world.ts";

// Family 14: ids of things of others, at every place where an id can stand.
const app = await startTestApp();

/** In everything of anna's that says something about itself. */
const marker = "zq-only-for-anna";
const places = new Set(["ownerAlias", "projectAlias", "projectUuid", "teamAlias", "companyAlias"]);
const people = new Set(["userAlias", "userUuid"]);
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const hash = /^[0-9a-f]{40}$/;
const atOnce = 8;

let world: World;
/** Bob's own, where he may do everything. */
let mine: Values;
/** Ids of what is anna's, and hashes of her private commits. */
const ids = new Set<string>();
const hashes = new Set<string>();

/** What some operations want beside an id, so that nothing but the id decides. */
const query = "?filePath=a.txt";
const filled = (body: unknown) =>
  typeof body === "object" && body !== null && "url" in body
    ? { ...body, url: "https://receiver.example.org/" }
    : body;

const send = (route: Route, values: Values, token: string, body = sampleBody(route)) =>
  app.send(route.method.toUpperCase(), pathOf(route, values) + query, {
    token,
    ...(body === undefined ? {} : { body: filled(body) }),
  });

function collect(value: unknown): void {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  if (typeof value !== "string") return;
  if (uuid.test(value)) ids.add(value);
  if (hash.test(value)) hashes.add(value);
}

const makes = (route: Route): boolean =>
  route.method === "post" &&
  neededRole(route.access) !== undefined &&
  parametersOf(route).every((name) => places.has(name)) &&
  !/delete|transfer|fork|restore|mirror|invite|apply-settings/.test(route.path);

before(async () => {
  world = await givenWorld(app);
  const { anna, bob, hidden } = world;
  const commit = {
    branch: "main",
    message: "One",
    actions: [{ action: "CREATE", path: "a.txt", content: marker, encoding: "text" }],
  };
  const at = `/project/anna/${hidden["projectAlias"]}`;
  collect((await app.post(`${at}/commit`, { token: anna.token, body: commit })).body);
  const settings = { description: marker };
  for (const path of [
    `${at}/setting/change-setting`,
    `/team/${hidden["teamAlias"]}`,
    `/company/${hidden["companyAlias"]}`,
  ]) {
    const { status, text } = await app.put(path, { token: anna.token, body: settings });
    expect(status, text).to.equal(200);
  }
  for (const route of routes.filter(makes)) collect((await send(route, hidden, anna.token)).body);
  const oauth = routes.find(({ operationId }) => operationId === "createOAuthApplication");
  if (oauth !== undefined) collect((await send(oauth, {}, anna.token)).body);
  const project = await app.givenProject(bob, "mine");
  for (const kind of ["team", "company"]) {
    const body = { title: "Mine", alias: `mine-${kind}` };
    expect((await app.post(`/${kind}`, { token: bob.token, body })).status).to.equal(200);
  }
  const names = { teamAlias: "mine-team", companyAlias: "mine-company" };
  mine = { ownerAlias: "bob", projectAlias: "mine", projectUuid: project.id, ...names };
  expect(ids.size, "things to try").to.be.greaterThan(8);
  expect(hashes.size, "commits to try").to.be.greaterThan(0);
});

/** None of the calls reveals or changes anything. */
async function fruitless(calls: readonly (() => Promise<Answer>)[], statuses: readonly number[]) {
  const head = await app.head();
  for (let start = 0; start < calls.length; start += atOnce) {
    for (const answer of await Promise.all(
      calls.slice(start, start + atOnce).map((call) => call()),
    )) {
      expect(statuses, answer.text.slice(0, 300)).to.include(answer.status);
      expect(answer.text).not.to.contain(marker);
    }
  }
  expect(await app.head(), "events").to.equal(head);
}

/** Names of bob's own: what a call of his may be about. */
const own = (): Values => ({ ...mine, userAlias: "bob", userUuid: world.bob.id });

for (const route of routes) {
  const needed = neededRole(route.access);
  if (needed === undefined && route.access !== "user") continue;
  const names = parametersOf(route);
  const children = names.filter((name) => !places.has(name) && !people.has(name));
  const { method, path } = route;

  describe(`${method} ${path}, given what is another's,`, () => {
    for (const name of children) {
      it(`finds nothing by its ${name}`, async () => {
        const values = [...ids, ...hashes];
        const calls = values.map(
          (value) => () => send(route, { ...own(), [name]: value }, world.bob.token),
        );
        await fruitless(calls, [403, 404]);
      });
    }

    if (needed?.resource === "project" && names.includes("projectAlias")) {
      it("finds nothing under a mixture of two projects' names", async () => {
        const { hidden, bob } = world;
        const mixed = [
          { ...own(), projectAlias: hidden["projectAlias"] ?? "" },
          { ...own(), ownerAlias: "anna" },
          { ...own(), ownerAlias: hidden["teamAlias"] ?? "" },
          { ...own(), ownerAlias: hidden["companyAlias"] ?? "" },
        ];
        await fruitless(
          mixed.map((values) => () => send(route, values, bob.token)),
          [403, 404],
        );
      });
    }

    if (route.body !== undefined && holdsIds(sampleBody(route))) {
      it("changes nothing of theirs by an id in its body", async () => {
        const head = await app.head();
        for (const id of [...ids].slice(0, 12)) {
          const body = replaced(sampleBody(route), id);
          const answer = await send(route, own(), world.bob.token, body);
          expect(answer.status, answer.text).to.be.lessThan(500);
          expect(answer.text).not.to.contain(marker);
        }
        const since = head === undefined ? {} : { after: head };
        for await (const { stream, type } of app.platform.store.readAll(since)) {
          for (const id of ids) expect(stream, type).not.to.contain(id);
        }
      });
    }
  });
}

describe("a commit of another project", () => {
  for (const path of ["blob?file=a.txt", "blob/download?file=a.txt", "blob/recursive?depth=1"]) {
    it(`is not read by ${path}`, async () => {
      const calls = [...hashes].map((commit) => () => {
        const at = `/project/bob/mine/${path}&commitHash=${commit}`;
        return app.get(at, { token: world.bob.token });
      });
      await fruitless(calls, [404]);
    });
  }
});

function holdsIds(value: unknown): boolean {
  if (typeof value === "string") return uuid.test(value);
  return typeof value === "object" && value !== null && Object.values(value).some(holdsIds);
}

function replaced(value: unknown, id: string): unknown {
  if (typeof value === "string") return uuid.test(value) ? id : value;
  if (Array.isArray(value)) return value.map((each) => replaced(each, id));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each, id)]));
}
