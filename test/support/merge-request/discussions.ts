import { startTestApp } from "../app/app.ts";
import { type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

export const text = ["one", "two", "three", "four", "five", ""].join("\n");

export const at = "/merge-request/1/discussions";

export const line = { newLine: 3, oldLine: 0, newPath: "feature.txt", oldPath: "/dev/null" };

export async function givenDiscussions() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  let world: MergeWorld;
  let head: string;
  before(async () => {
    world = await newWorld();
    head = await world.push("feature", { "feature.txt": text });
    await world.open();
  });
  return {
    ...{ app, newWorld, anna, bob, carl },
    get world() {
      return world;
    },
    get head() {
      return head;
    },
  };
}
