import path from "node:path";
import { expect } from "chai";
import { startGitApp, type TestProject, type TestUser } from "../app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "./git.ts";

type Given = Readonly<{ anna: TestUser; project: TestProject; copy: string }>;

/** A project of five commits and a tag, and clones of it. */
export async function fetchWorld() {
  const app = await startGitApp();
  const parent = await temporaryDirectory();
  let world: Given;
  let count = 0;
  const given = () => world;

  before(async () => {
    const anna = await app.user("anna");
    const project = await app.project(anna, "project");
    const copy = await workingCopy(parent, "copy");
    for (let index = 1; index <= 5; index += 1) {
      await commit(copy, `Commit ${index}`, { "a.txt": `${index}\n`, [`dir/${index}.txt`]: "x\n" });
    }
    await git(copy, "tag", "-a", "v1", "-m", "Version 1");
    await git(copy, "push", "--quiet", app.remote(project, anna), "main", "v1");
    world = { anna, project, copy };
  });

  async function clone(...options: string[]): Promise<string> {
    count += 1;
    const into = path.join(parent, `clone-${count}`);
    const config = options.filter((option) => option.includes("="));
    const flags = options.filter((option) => !option.includes("=") || option.startsWith("--"));
    const settings = config.filter((option) => !option.startsWith("--")).flatMap((s) => ["-c", s]);
    const from = app.remote(world.project, world.anna);
    await git(parent, ...settings, "clone", "--quiet", ...flags, from, into);
    return into;
  }

  async function expectMirror(into: string): Promise<void> {
    const format = "--format=%(objectname) %(refname)";
    const refs = await git(world.copy, "for-each-ref", format, "refs/heads", "refs/tags");
    expect(await git(into, "for-each-ref", format)).to.equal(refs);
    await git(into, "fsck", "--full", "--strict");
  }

  return { app, parent, given, clone, expectMirror };
}
