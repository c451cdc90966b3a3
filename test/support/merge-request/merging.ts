import { expect } from "chai";
import { startTestApp, type TestUser } from "../app/app.ts";
import { git } from "../git/git.ts";
import { idOf, type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

export async function givenMerging() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  let world: MergeWorld;
  beforeEach(async () => {
    world = await newWorld();
  });
  const merging = (body: Json = {}, user: TestUser = bob, id: unknown = 1) =>
    world.post(user, `/merge-request/${id}/merge`, body);
  async function merged(body: Json = {}, id: unknown = 1): Promise<Json> {
    const answer = await merging(body, bob, id);
    expect(answer.status, answer.text).to.equal(200);
    expect(idOf(answer.body["status"])).to.equal("MERGED");
    return answer.body;
  }
  /** What the server has of a branch, in the working copy. */
  async function fetched(branch = "main"): Promise<string> {
    await git(world.copy, "fetch", "--quiet", "origin");
    return git(world.copy, "rev-parse", `origin/${branch}`);
  }
  const show = (format: string, what: string) =>
    git(world.copy, "show", "--no-patch", `--format=${format}`, what);
  const moves = async () =>
    (await world.recordedChanges()).filter((line) => line.startsWith("BranchUpdated main"));
  return {
    ...{ app, anna, bob, carl, merging, merged, fetched, show, moves },
    get world() {
      return world;
    },
  };
}
