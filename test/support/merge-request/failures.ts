import { randomUUID } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { startTestApp } from "../app/app.ts";
import { git } from "../git/git.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";
import { skipFor } from "../process/program.ts";

const isWritable = (directory: string): boolean => {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Git ends with an error once the file with the result is gone. */
export const failing = (text: string) => `echo '${text}' >&2; rm -f %O %A %B`;

export async function givenFailures() {
  // Git gives a merge program its files in the directory that it runs in.
  skipFor(isWritable("/") ? [] : ["this user may not write files at /"]);
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob } = people;
  let world: MergeWorld;
  beforeEach(async () => {
    world = await newWorld();
  });
  const repositoryOf = async ({ project }: MergeWorld) => (await app.deps.git.find(project.id))!;
  const view = async () => (await world.get(bob, "/merge-request/1")).body;
  const reasons = async () =>
    ((await view())["mergeErrors"] as Json[]).map(({ field, code }) => [field, code]);
  /** Both branches change a file that git gives to a program, which does this instead of merging. */
  async function givenDriver(script: string): Promise<() => Promise<void>> {
    // Commits of one second are the same in each world, and what is known of a pair is remembered.
    await world.push("main", { "a.txt": `elsewhere ${randomUUID()}\n` });
    const { gitDir } = await repositoryOf(world);
    const attributes = path.join(gitDir, "info", "attributes");
    await mkdir(path.dirname(attributes), { recursive: true });
    await writeFile(attributes, "a.txt merge=failing\n");
    await git(gitDir, "config", "merge.failing.driver", script);
    return () => rm(attributes);
  }
  return {
    ...{ anna, bob, repositoryOf, view, reasons, givenDriver },
    get world() {
      return world;
    },
  };
}
