import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { invariant } from "../../platform/invariant.ts";
import { program } from "./service.ts";
import { type Demo, project, type Step } from "./steps.ts";

const endsWithinMs = 60_000;

const file = `stages: [build, test]
build:
  stage: build
  script:
    - echo "built from $CI_COMMIT_REF_NAME" > program.txt
  artifacts:
    paths: [program.txt]
test:
  stage: test
  script:
    - grep built program.txt
`;

/** The shell needs nothing that a machine may lack. */
const executor = "shell";

function agentCall(demo: Demo, ...args: readonly string[]): Promise<string> {
  const config = path.join(demo.folder, "agent", "config.json");
  const options = { cwd: demo.folder, env: demo.service.environment };
  return demo.shell.run(process.execPath, [program, "agent", ...args, "--config", config], options);
}

export const pipelineSteps: readonly Step[] = [
  {
    title: "An agent for the pipelines of the project",
    async run(demo) {
      const info = await demo.api.json("GET", `${project}/runners/registration-info`);
      const token = info.at("registrationToken").string();
      demo.shell.hide(token);
      const to = ["--url", info.at("registrationUrl").string(), "--token", token];
      await agentCall(demo, "register", ...to, "--executor", executor);
      const agents = await demo.api.json("GET", `${project}/runners`);
      const name = agents.at("_embedded", "restPipelineRunnerModelList", 0, "name").string();
      return `${name} is registered`;
    },
  },
  {
    title: "A pushed file starts a pipeline, which the agent runs",
    async run(demo) {
      const source = path.join(demo.folder, "source");
      const git = (...args: readonly string[]) => demo.shell.run("git", ["-C", source, ...args]);
      await git("checkout", "-q", "-b", "pipeline");
      await writeFile(path.join(source, ".forge-ci.yaml"), file);
      await git("add", ".forge-ci.yaml");
      await git("commit", "-q", "-m", "Build and test");
      const address = new URL(`${demo.service.url}${project}.git`);
      Object.assign(address, { username: "admin", password: demo.password });
      await git("push", "-q", address.href, "pipeline");
      await agentCall(demo, "run", "--once");
      await newest(demo);
      await agentCall(demo, "run", "--once");
      const pipeline = await ended(demo);
      demo.facts.set("pipeline", String(pipeline.at("localId").number()));
      return `pipeline ${pipeline.at("localId").number()}: ${pipeline.at("status").string()}`;
    },
  },
  {
    title: "Its log, and the artifact that it left",
    async run({ api, facts }) {
      const pipeline = `${project}/cicd/pipeline/${facts.get("pipeline")}`;
      const jobs = await api.json("GET", `${pipeline}/jobs`);
      const list = jobs.at("_embedded", "restPipelineJobModelList").items();
      const test = list.find((job) => job.at("name").string() === "test");
      const log = await api.text("GET", `${project}/cicd/job/${test?.at("localId").number()}/log`);
      invariant(log.includes("built from pipeline"), "the second job read what the first one made");
      const artifacts = await api.json("GET", `${pipeline}/artifacts`);
      const artifact = artifacts.at("_embedded", "restPipelineJobArtifactModelList", 0);
      const bytes = artifact.at("size").number();
      return `${artifact.at("fileName").string()}, ${bytes} bytes`;
    },
  },
];

/** @throws Error when the pipeline failed: no further job would come. */
async function newest({ api }: Demo) {
  const list = await api.json("GET", `${project}/cicd/pipeline`, { quiet: true });
  const pipeline = list.at("_embedded", "restPipelineModelList", 0);
  const status = pipeline.at("status").string();
  const hasFailed = ["FAILED", "CANCELED", "WARNING"].includes(status);
  invariant(!hasFailed, `the pipeline succeeds, but is ${status}`);
  return { pipeline, isOver: status === "SUCCESS" };
}

async function ended(demo: Demo) {
  const deadline = performance.now() + endsWithinMs;
  for (;;) {
    const { pipeline, isOver } = await newest(demo);
    if (isOver) return pipeline;
    invariant(performance.now() < deadline, "the pipeline ends in time");
    await delay(100);
  }
}
