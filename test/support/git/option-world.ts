import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { pipelinesOf } from "../agent/pipeline-app.ts";
import { startTestApp, type TestApp } from "../app/app.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "./git.ts";

const file = `
always: {script: x}
deploy: {script: y, rules: [{if: '$DEPLOY == "to = all"'}]}
`;

/** A project with pipelines, and pushes with options; tests share it, and push to branches of their own. */
export async function optionWorld() {
  const app = await startTestApp({ workers: true });
  const parent = await temporaryDirectory();
  let world: Awaited<ReturnType<typeof projectOf>>;
  before(async () => {
    world = await projectOf(app, parent);
  });
  return () => world;
}

async function projectOf(app: TestApp, parent: string) {
  const anna = await app.givenUser("anna");
  const project = await app.givenProject(anna, "options");
  const ci = pipelinesOf(app, anna, project);
  const copy = await workingCopy(parent, project.alias);
  await commit(copy, "First", { "a.txt": "a\n" });
  const remote = new URL(`/project/anna/${project.alias}.git`, app.url);
  Object.assign(remote, { username: "anna", password: anna.token });
  await git(copy, "push", "--quiet", remote.href, "main");
  await git(copy, "checkout", "--quiet", "-b", "topic");
  await writeFile(path.join(copy, ".forge-ci.yaml"), file);
  await git(copy, "add", ".forge-ci.yaml");
  await commit(copy, "Add a pipeline\n\nIt does nothing.");
  const push = async (to: string, ...options: string[]) => {
    const all = options.flatMap((option) => ["-o", option]);
    const { exitCode, stderr } = await tryGit(copy, ["push", ...all, remote.href, `topic:${to}`]);
    expect(exitCode, stderr).to.equal(0);
    return stderr;
  };
  const pushAll = async (branches: readonly string[]): Promise<string> => {
    const refs = branches.map((branch) => `topic:${branch}`);
    const { exitCode, stderr } = await tryGit(copy, ["push", remote.href, ...refs]);
    expect(exitCode, stderr).to.equal(0);
    return stderr;
  };
  const requests = async () => {
    const at = `/project/anna/${project.alias}/merge-request/list`;
    const { body } = await app.get(at, { token: anna.token });
    return Object.values(body["_embedded"] as object)[0] as Record<string, unknown>[];
  };
  return { project, ci, push, pushAll, requests };
}
