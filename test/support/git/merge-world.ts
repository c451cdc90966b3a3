import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { TestApp, TestUser } from "../app/app.ts";
import { commit, git } from "./git.ts";
import { type Answered, givenPeople, type People, type RefWorld, refWorlds } from "./ref-world.ts";

export type Json = Record<string, unknown>;

/** A project with branches that merge requests go between, and what to do with them. */
export type MergeWorld = RefWorld &
  Readonly<{
    get: (user: TestUser, rest: string) => Promise<Answered>;
    put: (user: TestUser, rest: string, body: unknown) => Promise<Answered>;
    /** Opens a request of anna's; fails when it is refused. */
    open: (over?: Json) => Promise<Json>;
    /** A branch of its own off `main` with these files, pushed; its name and head. */
    branch: (
      files: Readonly<Record<string, string | Buffer>>,
    ) => Promise<readonly [string, string]>;
    /** Commits to a branch and pushes it; the new head. */
    push: (branch: string, files: Readonly<Record<string, string | Buffer>>) => Promise<string>;
  }>;

export async function mergeWorlds(app: TestApp) {
  const people = await givenPeople(app);
  const given = await refWorlds(app, async (copy) => {
    await git(copy, "checkout", "--quiet", "-b", "feature");
    await commit(copy, "Feature", { "feature.txt": "one\n", "a.txt": "a, changed\n" });
    await git(copy, "checkout", "--quiet", "main");
  });
  return { people, world: async () => mergeWorld(app, people, await given(people)) };
}

async function mergeWorld(app: TestApp, { anna }: People, world: RefWorld): Promise<MergeWorld> {
  const { copy, at, post } = world;
  const push: MergeWorld["push"] = async (branch, files) => {
    await git(copy, "checkout", "--quiet", branch);
    const head = await commit(copy, `Change ${Object.keys(files).join()}`, files);
    await git(copy, "push", "--quiet", "--force", "origin", branch);
    return head;
  };
  return {
    ...world,
    push,
    get: (user, rest) => app.get(at(rest), { token: user.token }),
    put: (user, rest, body) => app.put(at(rest), { token: user.token, body }),
    async open(over = {}) {
      const answer = await post(anna, "/merge-request", { ...wanted(), ...over });
      expect(answer.status, answer.text).to.equal(200);
      return answer.body;
    },
    async branch(files) {
      const name = `b-${randomUUID().slice(0, 8)}`;
      await git(copy, "checkout", "--quiet", "-b", name, "main");
      return [name, await push(name, files)];
    },
  };
}

/** The body that opens a request from `feature` to `main`. */
export const wanted = (): Json => ({
  title: "Feature",
  description: "What it does",
  sourceBranch: { id: "feature" },
  targetBranch: { id: "main" },
});

export const idOf = (selected: unknown): unknown => (selected as Json)["id"];
