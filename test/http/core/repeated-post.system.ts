import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { type Answer, startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { whileLagging } from "../../support/app/lag.ts";
import {
  givenWorld,
  parametersOf,
  pathOf,
  rightful,
  sampleBody,
  sampleQuery,
  type World,
} from "../../support/app/world.ts";
import { type People, refWorlds } from "../../support/git/ref-world.ts";

const app = await startTestApp({ visibleWaitMaxMs: 5_000 });
const givenRefs = await refWorlds(app);
const { db } = app.deps;

type Post = Readonly<{ name: string; at: string; token: string; body?: unknown }>;
const send = ({ at, token, body }: Post, key: string) =>
  app.post(at, {
    token,
    headers: { "idempotency-key": key },
    ...(body === undefined ? {} : { body }),
  });

/** The first answers of all while no read model moves, and the answers to the repetitions afterwards. */
async function lagged(posts: readonly Post[]) {
  const keys = posts.map(() => randomUUID());
  const first = await whileLagging(db, () =>
    Promise.all(posts.map((post, index) => send(post, keys[index]!))),
  );
  const head = await app.head();
  await eventually(() => app.deps.visible(head).then(() => true), 60_000);
  const again: Answer[] = [];
  for (const [index, post] of posts.entries()) again.push(await send(post, keys[index]!));
  return posts.map((post, index) => ({ post, first: first[index]!, again: again[index]! }));
}

let world: World;
let people: People;
before(async () => {
  world = await givenWorld(app);
  people = { anna: world.anna, bob: world.bob, carl: await app.givenUser("carl") };
});

const isLate = ({ first }: { first: Answer }) => first.body["code"] === "projection.lagging";

describe("a POST that was answered 503 because its change did not show yet", function () {
  this.timeout(240_000);

  it("is answered with its outcome when it is repeated, whatever its own change has hidden", async () => {
    const { anna, bob } = world;
    const { at } = await givenRefs(people);
    const make = async (path: string, body: unknown) => {
      const made = await app.post(path, { token: anna.token, body });
      expect(made.status, made.text).to.be.within(200, 204);
      return made.body;
    };
    const webhook = await make(at("/setting/webhook"), {
      url: "https://example.org/hook",
      events: { BRANCH_CREATE: true },
    });
    const team = await make("/team", { title: "Doomed", alias: "doomed", isPrivate: true });
    const posts: Post[] = [
      { name: "delete a webhook", at: at(`/setting/webhook/${webhook["id"]}/delete`) },
      { name: "create a tag", at: at("/tag"), body: { tagName: "lag-1", branchName: "main" } },
      {
        name: "create a branch",
        at: at("/branch"),
        body: { newBranch: "lag", originBranch: "main" },
      },
      {
        name: "release a new tag",
        at: at("/release"),
        body: { title: "One", tagName: "lag-2", branchName: "main" },
      },
      {
        name: "create a project",
        at: "/project",
        body: { title: "L", alias: "lag", isPrivate: true },
      },
      { name: "follow a user", at: `/user/${bob.alias}/follow` },
      {
        name: "transfer a team",
        at: "/team/transfer",
        body: { teamAlias: team["alias"], ownerAlias: bob.alias },
      },
    ].map((post) => ({ token: anna.token, ...post }));
    const outcomes = await lagged(posts);
    const late = outcomes.filter(isLate);
    expect(late.length, JSON.stringify(outcomes.map(({ first }) => first.text))).to.be.at.least(6);
    for (const { post, again } of late) {
      expect(again.status, `${post.name}: ${again.text}`).to.be.within(200, 204);
    }
    const tags = await app.get(at("/release/latest"), { token: anna.token });
    expect(tags.body, tags.text).to.deep.include({ tagName: "lag-2" });
  });

  it("is so for every declared POST", async () => {
    const posts = routes
      .filter(({ method, path }) => method === "post" && !path.startsWith("/admin/settings"))
      .filter((route) => route.upload === undefined && route.attachment !== true)
      .filter((route) => route.access !== "anonymous" && route.access !== "basic")
      .filter((route) => parametersOf(route).every((name) => name in world.open))
      .map((route) => ({
        name: route.operationId,
        at: pathOf(route, world.open) + sampleQuery(route),
        token: rightful(route, world).token,
        body: bodyOf(route),
      }));
    expect(posts.length).to.be.greaterThan(20);
    const late = (await lagged(posts)).filter(isLate);
    expect(late.length).to.be.greaterThan(8);
    const wrong = late.filter(({ again }) => again.status >= 300);
    expect(wrong.map(({ post, again }) => `${post.name}: ${again.text}`)).to.deep.equal([]);
  });

  it("goes on without its client, and is the same command", async () => {
    const { anna } = world;
    const post = { name: "", at: "/project", token: anna.token, body: sample("whole") };
    const key = randomUUID();
    const first = await whileLagging(db, () => send(post, key));
    expect(first.body["code"]).to.equal("projection.lagging");
    const find = () => app.get("/project/anna/whole", { token: anna.token });
    await eventually(async () => (await find()).status === 200);
    const head = await app.head();
    const again = await send(post, key);
    expect([again.status, again.body["alias"]]).to.deep.equal([200, "whole"]);
    expect(await app.head()).to.equal(head);
  });
});

describe("a DELETE of a tag that is repeated", () => {
  it("finds it gone instead of changed by another request", async () => {
    const refs = await givenRefs(people);
    const made = await refs.post(people.anna, "/tag", { tagName: "gone", branchName: "main" });
    expect(made.status, made.text).to.equal(200);
    const [first, during] = await whileLagging(db, async () => {
      const unanswered = await refs.delete(people.anna, "/tag/gone");
      return [unanswered, await refs.delete(people.anna, "/tag/gone")];
    });
    expect([first?.status, during?.status]).to.deep.equal([503, 503]);
    await app.deps.visible(await app.head());
    expect((await refs.delete(people.anna, "/tag/gone")).status).to.equal(404);
  });
});

const sample = (alias: string) => ({ title: alias, alias, isPrivate: true });

/** The documented example; operations that make a tag each make one of their own. */
function bodyOf(route: Route): unknown {
  const body = sampleBody(route);
  const makesTag = typeof body === "object" && body !== null && "tagName" in body;
  return makesTag ? { ...body, tagName: route.operationId } : body;
}
