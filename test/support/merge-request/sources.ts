import { startTestApp } from "../app/app.ts";
import { mergeWorlds } from "../git/merge-world.ts";

export async function givenSources() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  return {
    ...{ app, people, newWorld },
  };
}
