import { expect } from "chai";
import { startTestApp, type TestUser } from "../app/app.ts";
import { commit, git } from "../git/git.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

export async function givenForkRequest() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  let world: MergeWorld;
  let forkId: unknown;
  let remote: string;
  /** A fork of carl's, who may only read the project, with a branch of its own. */
  beforeEach(async () => {
    world = await newWorld();
    const alias = `fork-${world.project.alias}`;
    const fork = await world.post(carl, "/fork", { ownerAlias: "carl", alias });
    expect(fork.status, fork.text).to.equal(200);
    forkId = fork.body["id"];
    const url = new URL(`/project/carl/${alias}.git`, app.url);
    Object.assign(url, { username: "carl", password: carl.token });
    remote = url.href;
    await git(world.copy, "checkout", "--quiet", "-b", "theirs", "main");
    await push("f.txt", "fork\n");
  });
  async function push(name: string, text: string): Promise<string> {
    await git(world.copy, "checkout", "--quiet", "theirs");
    const head = await commit(world.copy, `Fork ${name}`, { [name]: text });
    await git(world.copy, "push", "--quiet", "--force", remote, "theirs:work");
    return head;
  }
  const open = (user: TestUser = carl, over: Json = {}) =>
    world.post(user, "/merge-request", {
      title: "From a fork",
      sourceBranch: { id: "work" },
      targetBranch: { id: "main" },
      sourceProject: { id: forkId },
      ...over,
    });
  const forkAt = (rest: string) => `/project/carl/fork-${world.project.alias}${rest}`;
  return {
    ...{ app, anna, bob, carl, push, open, forkAt },
    get world() {
      return world;
    },
    get forkId() {
      return forkId;
    },
    get remote() {
      return remote;
    },
  };
}
