import path from "node:path";

import { startGitApp, type TestProject, type TestUser } from "../app/git-app.ts";
import { spawnedWhile } from "../process/spawned.ts";
import { commit, git, temporaryDirectory, workingCopy } from "./git.ts";

type Given = Readonly<{ anna: TestUser; bert: TestUser; copy: string }>;

/** Two users, a working copy of five commits, projects that are filled from it, and clones of them. */
export async function packCacheWorld() {
  const app = await startGitApp();
  const parent = await temporaryDirectory();
  let world: Given;
  let count = 0;

  before(async () => {
    const copy = await workingCopy(parent, "copy");
    for (let index = 1; index <= 5; index += 1) {
      await commit(copy, `Commit ${index}`, { "a.txt": `${index}\n`, [`${index}.txt`]: "x\n" });
    }
    world = { anna: await app.user("anna"), bert: await app.user("bert"), copy };
  });

  return {
    app,
    parent,
    given: () => world,
    async filled(alias: string): Promise<TestProject> {
      const project = await app.project(world.anna, alias);
      await git(world.copy, "push", "--quiet", app.remote(project, world.anna), "main");
      return project;
    },
    async clone(from: string, ...options: readonly string[]): Promise<string> {
      count += 1;
      const into = path.join(parent, `clone-${count}`);
      await git(parent, "clone", "--quiet", "--mirror", ...options, from, into);
      return into;
    },
    /** How often git made a pack, or a list of refs, meanwhile. */
    async uploadPacksWhile(run: () => Promise<unknown>): Promise<number> {
      const lines = await spawnedWhile(run);
      const made = /upload-pack --stateless-rpc (?!--advertise)/;
      return lines.filter((line) => made.test(line)).length;
    },
  };
}
