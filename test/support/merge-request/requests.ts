import { startTestApp } from "../app/app.ts";
import { tryGit } from "../git/git.ts";
import { type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

export async function givenRequests() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  let world: MergeWorld;
  beforeEach(async () => {
    world = await newWorld();
  });
  const headIn = () => tryGit(world.copy, ["ls-remote", "origin", "refs/merge-requests/1/head"]);
  return {
    ...{ app, newWorld, anna, bob, carl, headIn },
    get world() {
      return world;
    },
  };
}
