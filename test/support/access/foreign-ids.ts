import { expect } from "chai";

import { neededRole } from "../../../src/http/access/access.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp } from "../app/app.ts";
import { givenWorld, parametersOf, sampleBody, type Values } from "../app/world.ts";
import { type Call, callsTo, mustBe } from "./call.ts";
import { chosen, type Extent, inTurn, signatureOf } from "./sample.ts";

/** In everything of anna's that describes itself. */
const marker = "zq-only-for-anna";
const places = new Set(["ownerAlias", "projectAlias", "projectUuid", "teamAlias", "companyAlias"]);
const people = new Set(["userAlias", "userUuid"]);
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const hash = /^[0-9a-f]{40}$/;
const atOnce = 8;

/** What some operations want beside an id, so that nothing but the id decides. */
const query = "?filePath=a.txt";
const filled = (body: unknown) =>
  typeof body === "object" && body !== null && "url" in body
    ? { ...body, url: "https://receiver.example.org/" }
    : body;

/** Ids that answers name, by the kind of thing that was made, and hashes of commits. */
function collection() {
  const ids = new Map<string, string>();
  const hashes = new Set<string>();
  function collect(kind: string, value: unknown): void {
    if (typeof value === "object" && value !== null) {
      for (const each of Object.values(value)) collect(kind, each);
    }
    if (typeof value !== "string") return;
    if (uuid.test(value) && !ids.has(value)) ids.set(value, kind);
    if (hash.test(value)) hashes.add(value);
  }
  return { ids, hashes, collect };
}

/** The first word of a path that no place is named by: a webhook, a label, a rule. */
const kindOf = ({ path }: Route): string =>
  path.replace(/^\/(?:project|team|company)(?:\/\{\w+\})+/, "").replace(/^\/setting/, "");

const sectionOf = (route: Route): string => kindOf(route).split("/")[1] ?? "";

const makes = (route: Route): boolean =>
  route.method === "post" &&
  neededRole(route.access) !== undefined &&
  parametersOf(route).every((name) => places.has(name)) &&
  !/delete|transfer|fork|restore|mirror|invite|apply-settings/.test(route.path);

const childrenOf = (route: Route): readonly string[] =>
  parametersOf(route).filter((name) => !places.has(name) && !people.has(name));

/** Everything of anna's, and bob, who may do everything in what is his own. */
async function givenThings() {
  const app = await startTestApp();
  const world = await givenWorld(app);
  const calls = callsTo(app);
  const { anna, bob, hidden } = world;
  const { ids, hashes, collect } = collection();
  const commit = {
    branch: "main",
    message: "One",
    actions: [{ action: "CREATE", path: "a.txt", content: marker, encoding: "text" }],
  };
  const at = `/project/anna/${hidden["projectAlias"]}`;
  collect("commit", (await app.post(`${at}/commit`, { token: anna.token, body: commit })).body);
  for (const path of [
    `${at}/setting/change-setting`,
    `/team/${hidden["teamAlias"]}`,
    `/company/${hidden["companyAlias"]}`,
  ]) {
    const body = { description: marker };
    const { status, text } = await app.put(path, { token: anna.token, body });
    expect(status, text).to.equal(200);
  }
  const by = { name: "anna", token: anna.token };
  const bodyOf = (route: Route) => filled(sampleBody(route));
  for (const route of routes.filter(makes)) {
    const call = { route, by, values: hidden, body: bodyOf(route), query };
    collect(sectionOf(route), (await calls.send(call)).body);
  }
  const oauth = routes.find(({ operationId }) => operationId === "createOAuthApplication");
  if (oauth !== undefined) {
    collect("oauth", (await calls.send({ route: oauth, by, values: {}, query })).body);
  }
  const project = await app.givenProject(bob, "mine");
  for (const kind of ["team", "company"]) {
    const body = { title: "Mine", alias: `mine-${kind}` };
    expect((await app.post(`/${kind}`, { token: bob.token, body })).status).to.equal(200);
  }
  const names = { teamAlias: "mine-team", companyAlias: "mine-company" };
  const mine = { ownerAlias: "bob", projectAlias: "mine", projectUuid: project.id, ...names };
  /** Names of bob's own: what a call of his may be about. */
  const own: Values = { ...mine, userAlias: "bob", userUuid: bob.id };
  expect(ids.size, "things to try").to.be.greaterThan(8);
  expect(hashes.size, "commits to try").to.be.greaterThan(0);
  return { app, world, calls, ids, hashes, own, bodyOf };
}

type Given = Awaited<ReturnType<typeof givenThings>> &
  Readonly<{ idsFor: IdsFor; inBody: readonly string[] }>;
/** The ids that a route is given: those of its own kind and some others, or all. */
type IdsFor = (route: Route) => readonly string[];

/** One way to name what is another's, tried at each route that has it. */
type Check = Readonly<{
  title: string;
  appliesTo: (route: Route) => boolean;
  kindOf: (route: Route) => string;
  run: (route: Route, given: Given) => Promise<void>;
}>;

/** Declares tests that try ids of anna's wherever an id can be in a call of bob's; call it with `await`. */
export async function foreignIds(extent: Extent): Promise<void> {
  const things = await givenThings();
  const { ids, hashes } = things;
  const some = inTurn(2);
  const idsFor: IdsFor = (route) => {
    const all = [...ids.keys(), ...hashes];
    if (extent === "whole") return all;
    const alike = [...ids].filter(([, kind]) => kind === sectionOf(route)).map(([id]) => id);
    return [...new Set([...alike.slice(0, 3), ...[...hashes].slice(0, 1), ...some(all)])];
  };
  const inBody = [...ids.keys()].slice(0, extent === "whole" ? 12 : 3);
  const given = { ...things, idsFor, inBody };
  const tried = routes.filter(
    ({ access }) => neededRole(access) !== undefined || access === "user",
  );
  for (const { title, appliesTo, kindOf, run } of checks) {
    describe(title, () => {
      for (const route of chosen(extent, tried.filter(appliesTo), kindOf)) {
        it(`${route.method.toUpperCase()} ${route.path}`, () => run(route, given));
      }
    });
  }
  declareCommits(given);
}

const resourceOf = ({ access }: Route) => neededRole(access)?.resource ?? "";

/** A call of bob's, who may do everything in his own. */
const callOf = (route: Route, values: Values, { world, bodyOf }: Given): Call => ({
  ...{ route, values, query, body: bodyOf(route) },
  by: { name: "bob, in his own,", token: world.bob.token },
});

/** None of the calls reveals or changes anything. */
async function fruitless(tried: readonly Call[], { app, calls }: Given): Promise<void> {
  const head = await app.head();
  for (let start = 0; start < tried.length; start += atOnce) {
    const batch = tried.slice(start, start + atOnce).map(async (call) => {
      const answer = await calls.answers(call, [403, 404]);
      mustBe(!answer.text.includes(marker), "nothing of anna's", call, answer);
    });
    await Promise.all(batch);
  }
  expect(await app.head(), "the end of the log, where nothing may be changed").to.equal(head);
}

const checks: readonly Check[] = [
  {
    title: "an id of another's finds nothing in a path",
    appliesTo: (route) => childrenOf(route).length > 0,
    kindOf: (route) => `${resourceOf(route)} ${sectionOf(route)} ${childrenOf(route)}`,
    async run(route, given) {
      for (const name of childrenOf(route)) {
        const callBy = (id: string) => callOf(route, { ...given.own, [name]: id }, given);
        await fruitless(given.idsFor(route).map(callBy), given);
      }
    },
  },
  {
    title: "a mixture of the names of two projects finds nothing",
    appliesTo: (route) =>
      resourceOf(route) === "project" && parametersOf(route).includes("projectAlias"),
    kindOf: signatureOf,
    async run(route, given) {
      const { own, world } = given;
      const { hidden } = world;
      const mixed = [
        { ...own, projectAlias: hidden["projectAlias"] ?? "" },
        { ...own, ownerAlias: "anna" },
        { ...own, ownerAlias: hidden["teamAlias"] ?? "" },
        { ...own, ownerAlias: hidden["companyAlias"] ?? "" },
      ];
      const callWith = (values: Values) => callOf(route, values, given);
      await fruitless(mixed.map(callWith), given);
    },
  },
  {
    title: "an id of another's in a body changes nothing of theirs",
    appliesTo: (route) => route.body !== undefined && holdsIds(sampleBody(route)),
    kindOf: (route) => `${resourceOf(route)} ${sectionOf(route)}`,
    async run(route, given) {
      const { app, calls, ids, own } = given;
      const head = await app.head();
      for (const id of given.inBody) {
        const body = filled(replaced(sampleBody(route), id));
        const call = { ...callOf(route, own, given), body };
        const answer = await calls.send(call);
        mustBe(answer.status < 500, "a status below 500", call, answer);
        mustBe(!answer.text.includes(marker), "nothing of anna's", call, answer);
      }
      const since = head === undefined ? {} : { after: head };
      for await (const { stream, type } of app.platform.store.readAll(since)) {
        for (const id of ids.keys()) expect(stream, type).not.to.contain(id);
      }
    },
  },
];

function declareCommits({ app, world, hashes }: Given): void {
  describe("a commit of another project", () => {
    for (const path of ["blob?file=a.txt", "blob/download?file=a.txt", "blob/recursive?depth=1"]) {
      it(`is not read by ${path}`, async () => {
        const head = await app.head();
        for (const commit of hashes) {
          const at = `/project/bob/mine/${path}&commitHash=${commit}`;
          const { status, text } = await app.get(at, { token: world.bob.token });
          expect(status, text.slice(0, 300)).to.equal(404);
          expect(text).not.to.contain(marker);
        }
        expect(await app.head(), "the end of the log").to.equal(head);
      });
    }
  });
}

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
