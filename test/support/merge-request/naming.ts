import { expect } from "chai";
import { startTestApp } from "../app/app.ts";
import { idOf, type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

const bug = { title: "Bug", description: "It does not work" };

export async function givenNaming() {
  const app = await startTestApp({ workers: true });
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  let world: MergeWorld;
  let other: MergeWorld;
  beforeEach(async () => {
    [world, other] = [await newWorld(), await newWorld()];
    for (const { post } of [world, other]) {
      expect((await post(anna, "/issue", bug)).status).to.equal(200);
    }
  });
  const issueStatus = async ({ get }: MergeWorld) =>
    idOf((await get(anna, "/issue/1")).body["status"]);
  async function editIssue({ put }: MergeWorld, over: Json): Promise<void> {
    const { status, text } = await put(anna, "/issue/1/edit", { ...bug, ...over });
    expect(status, text).to.equal(200);
  }
  /** Commits that closed the issue of the world. */
  async function closingCommits(): Promise<readonly unknown[]> {
    const found: unknown[] = [];
    const { id } = (await world.get(anna, "/issue/1")).body;
    for await (const { type, data } of app.deps.store.readStream(`issue-${id}`)) {
      if (type === "IssueClosedByCommit") found.push(data["commitId"]);
    }
    return found;
  }
  return {
    ...{ app, anna, bob, carl, issueStatus, editIssue, closingCommits },
    get world() {
      return world;
    },
    get other() {
      return other;
    },
  };
}
