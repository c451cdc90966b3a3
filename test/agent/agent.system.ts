import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { hasSandbox, needsSandbox, startOwnAgent } from "../support/agent/own-agent.ts";
import { pipelinesOf, type View } from "../support/agent/pipeline-app.ts";
import { startTestApp } from "../support/app/app.ts";
import { eventually as within } from "../support/app/eventually.ts";
import { runProgram } from "../support/app/service.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("bash");
const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { token } = anna;
const runners = { base: "/project/anna/search/runners", token };
const agent = await startOwnAgent(app, runners, { executor: "shell", concurrency: 2 });
const sandboxed = hasSandbox
  ? await startOwnAgent(app, runners, { executor: "bubblewrap", tags: ["sandbox"] })
  : undefined;

/** A job goes through several workers, and starts programs. */
const eventually = <Value>(condition: () => Value | Promise<Value>) => within(condition, 120_000);

let files = 0;
const isOver = ({ status }: View): boolean =>
  ["SUCCESS", "FAILED", "CANCELED", "WARNING"].includes(String(status));

async function given(file: string): Promise<View> {
  files += 1;
  await at.commit({ ".forge-ci.yaml": `# ${files}\n${file}` }, "[skip ci] Change");
  return at.start();
}

/** @returns its jobs by name */
async function ended(pipeline: View): Promise<Readonly<Record<string, View>>> {
  const { localId } = pipeline;
  await eventually(async () => isOver(await at.pipeline(localId)));
  return Object.fromEntries((await at.jobs(localId)).map((job) => [job["name"], job]));
}

/** Recorded a moment after the last job has ended. */
const reasonOf = ({ localId }: View) =>
  eventually(async () => (await at.pipeline(localId))["failureReason"]);

const logOf = async (job: View | undefined): Promise<string> =>
  (await app.get(`${at.base}/cicd/job/${job?.["localId"]}/log`, { token })).text;

describe("the agent of the service", () => {
  it("runs jobs from the clone to the artifact that the next job gets", async () => {
    const jobs = await ended(
      await given(
        [
          "stages: [build, test]",
          "variables: {GREETING: hello}",
          "build:",
          "  stage: build",
          "  script:",
          "    - mkdir -p out/deep",
          '    - echo "$GREETING from $CI_JOB_NAME" > out/deep/a.txt',
          "    - ln -s a.txt out/deep/link",
          "    - echo left out > out/b.log",
          "    - echo $CI_JOB_TOKEN",
          "    - printf 'VERSION=1.2\\nGREETING=\"well met\"\\nCI_JOB_NAME=x\\n' > build.env",
          "  artifacts: {paths: [out], exclude: ['**/*.log'], reports: {dotenv: [build.env]}}",
          "  after_script: ['echo after $CI_JOB_STATUS']",
          "test:",
          "  stage: test",
          "  script:",
          "    - cat out/deep/link",
          "    - test ! -e out/b.log",
          "    - test -f .forge-ci.yaml",
          "    - git log -1 --format=%H",
          '    - echo "$GREETING, $VERSION of $CI_JOB_NAME"',
          "    - '! grep -r lfjt_ .git'",
        ].join("\n"),
      ),
    );
    const built = await logOf(jobs["build"]);
    expect(jobs["build"]?.["status"], built).to.equal("SUCCESS");
    expect(built)
      .to.include("after success")
      .and.match(/section_start:\d+:step_script\r/);
    expect(built)
      .to.include("[MASKED]")
      .and.not.match(/lfjt_\w/);
    const tested = await logOf(jobs["test"]);
    expect(jobs["test"]?.["status"], tested).to.equal("SUCCESS");
    expect(tested)
      .to.include("hello from build\n")
      .and.match(/^well met, 1\.2 of test$/m);
    const left = () => readdir(path.join(agent.work, "jobs"));
    await eventually(async () => (await left()).length === 0);
  });

  it("fails a job with the exit code of its script, and uploads what is wanted of failures", async () => {
    const jobs = await ended(
      await given(
        "build:\n  script: ['echo found > a.txt', 'exit 7', 'echo never']\n" +
          "  after_script: ['echo after $CI_JOB_STATUS']\n" +
          "  artifacts: {when: on_failure, paths: [a.txt]}\n",
      ),
    );
    const { build } = jobs;
    expect(build?.["status"]).to.equal("FAILED");
    const log = await logOf(build);
    expect(log)
      .to.include("after failed")
      .and.include("exit code 7")
      .and.not.match(/^never$/m);
    const list = await app.get(`${at.base}/cicd/job/${build?.["localId"]}/artifacts`, { token });
    expect(list.text).to.include("artifacts.zip");
  });

  it("leaves no process of a job that ended, or takes too long", async () => {
    const pipeline = await given(
      "slow:\n  timeout: 1s\n  script: ['setsid sleep 300 & sleep 300']\n" +
        "left:\n  script: ['setsid sleep 300 &', 'sleep 300 &']\n",
    );
    expect((await ended(pipeline))["left"]?.["status"]).to.equal("SUCCESS");
    expect(await agent.processes()).to.deep.equal([]);
    expect(await reasonOf(pipeline)).to.equal("Failed jobs: slow (job_execution_timeout).");
  });

  it("ends a job that is canceled, and runs what follows its script", async () => {
    const pipeline = await given(
      "build:\n  script: ['echo begun', 'sleep 300']\n" +
        "  after_script: ['echo after $CI_JOB_STATUS']\n",
    );
    const running = await eventually(async () => {
      const [job] = await at.jobs(pipeline["localId"]);
      // What follows the script runs only where the script has begun.
      return job?.["status"] === "RUNNING" && /^begun$/m.test(await logOf(job)) ? job : undefined;
    });
    await app.post(`${at.base}/cicd/job/${running?.["localId"]}/cancel`, { token });
    await eventually(async () => (await agent.processes()).length === 0);
    const { build } = await ended(pipeline);
    expect(build?.["status"]).to.equal("CANCELED");
    await eventually(async () => (await logOf(build)).includes("after canceled"));
  });

  it("keeps a cache for later jobs of the project", async () => {
    const file =
      "build:\n  cache: {key: deps, paths: [deps/]}\n" +
      "  script: ['cat deps/a || true', 'mkdir -p deps', 'echo kept > deps/a']\n";
    await ended(await given(file));
    const again = await ended(await given(file));
    const log = await logOf(again["build"]);
    expect(log)
      .to.match(/Restored deps-\w+/)
      .and.match(/^kept$/m);
  });

  it("keeps the caches of protected and of other refs apart, whatever the files say", async () => {
    const job = (own: string, end: string) =>
      `build:\n  variables: {CACHE_FALLBACK_KEY: 'x${end}'}\n  script: ['cat k* || true', 'echo ${own} > k0']\n` +
      `  cache: {key: x-protected, fallback_keys: [x${end}], unprotect: true, paths: ['k*']}\n`;
    const lines: string[] = [];
    const run = async (refName: string, file: string): Promise<void> => {
      files += 1;
      const content = { ".forge-ci.yaml": `# ${files}\n${file}` };
      await at.commit(content, "[skip ci] Change", refName);
      const jobs = await ended(await at.start({ refName, isTag: false }));
      lines.push(...(await logOf(jobs["build"])).split("\n").map((line) => `${refName}: ${line}`));
    };
    await at.commit({ ".forge-ci.yaml": "a: {script: x}" }, "[skip ci] Begin");
    const branch = { newBranch: "topic", originBranch: "main" };
    expect((await app.post(`${at.base}/branch`, { token, body: branch })).status).to.equal(200);
    const everybody = { allowedToPush: "DEVELOPER", allowedToMerge: "DEVELOPER" };
    const rule = { branchTemplate: "main", ...everybody, allowForcePush: false };
    const rules = `${at.base}/branch-protection`;
    const { body: made } = await app.post(`${rules}/create`, { token, body: rule });
    for (let round = 0; round < 2; round += 1) {
      await run("topic", job("outsider", "-protected"));
      await run("main", job("insider", "-non_protected"));
    }
    expect((await app.delete(`${rules}/${made["uuid"]}`, { token })).status).to.be.below(300);
    expect(lines).to.include("main: insider").and.include("topic: outsider");
    expect(lines).not.to.include("main: outsider").and.not.include("topic: insider");
  });

  it("takes no artifact from outside of the project", async () => {
    const jobs = await ended(
      await given(
        "links:\n  script: ['ln -s /etc out', 'echo a > a']\n" +
          "  artifacts: {paths: [out/passwd, ../../*, /etc/hostname, a]}\n" +
          "moved:\n  script: ['cd ..', 'mv search x', 'ln -s /etc search']\n" +
          "  artifacts: {paths: [passwd]}\n",
      ),
    );
    const log = await logOf(jobs["links"]);
    expect(log).to.include("found 1 files").and.include("/etc/hostname is outside");
    expect(await logOf(jobs["moved"])).to.include("the directory of the project is gone");
    expect(jobs["moved"]?.["status"]).to.equal("FAILED");
  });

  it("writes variables of the kind FILE into files, and expands references once", async () => {
    const variable = `${at.base}/setting/cicd/variable`;
    for (const body of [
      { key: "A_FILE", value: "line $CI_JOB_NAME\n", type: "FILE" },
      { key: "A_TEXT", value: "name $CI_JOB_NAME $$HOME" },
    ]) {
      const { status, text } = await app.post(variable, { token, body });
      expect(status, text).to.be.below(300);
    }
    const jobs = await ended(
      await given("build:\n  script: ['cat \"$A_FILE\"', 'echo \"$A_TEXT\"']\n"),
    );
    const log = await logOf(jobs["build"]);
    expect(log)
      .to.match(/^line build$/m)
      .and.match(/^name build \$HOME$/m);
  });
});

describe("an agent that is stopped", () => {
  it("gives back the job that runs, which is run again as its file says", async () => {
    const pipeline = await given(
      "build:\n  retry: {max: 1, when: runner_system_failure}\n  script: ['sleep 300']\n",
    );
    await eventually(async () => (await agent.processes()).length > 0);
    await agent.giveBack();
    expect(await agent.processes()).to.deep.equal([]);
    // The agent returns the job within five seconds; otherwise the service notices after a minute of silence.
    await eventually(async () => {
      const [job] = await at.jobs(pipeline["localId"]);
      return expect(job?.["status"]).to.be.oneOf(["CREATED", "PENDING"]);
    });
    const other = await startOwnAgent(app, runners, { executor: "shell" });
    await eventually(async () => (await other.processes()).length > 0);
    await other.giveBack();
    expect((await ended(pipeline))["build"]?.["status"]).to.equal("FAILED");
    expect(await reasonOf(pipeline)).to.equal("Failed jobs: build (runner_interrupted).");
  });
});

describe("the sandbox", () => {
  needsSandbox();

  it("shows a job neither the service nor other processes, and lets it change only its own", async () => {
    const jobs = await ended(
      await given(
        [
          "build:",
          "  tags: [sandbox]",
          "  artifacts: {paths: [out], untracked: true}",
          "  script:",
          `    - '! ls ${app.dataDir}'`,
          `    - '! ls ${sandboxed?.work}'`,
          "    - '! ls /root /home'",
          "    - '! cat /etc/shadow'",
          "    - '! touch /usr/a'",
          "    - '! unshare -U true'",
          "    - test $(id -u) = 1000",
          "    - test $(ls -d /proc/[0-9]* | wc -l) -lt 8",
          "    - echo made > out",
          "    - sleep 300 &",
        ].join("\n"),
      ),
    );
    const log = await logOf(jobs["build"]);
    expect(jobs["build"]?.["status"], log).to.equal("SUCCESS");
    expect(log).to.include("Uploaded archive as artifacts.zip");
    expect(await sandboxed?.processes()).to.deep.equal([]);
  });
});

describe("ledgerforge agent", function () {
  // Six starts of the program.
  this.timeout(600_000);

  it("registers, runs one job, and unregisters", async () => {
    const config = path.join(await realpath(await temporaryDirectory()), "own", "config.json");
    const shown = await app.get(`${runners.base}/registration-info`, { token });
    const registration = String(shown.body["registrationToken"]);
    const call = async (...args: readonly string[]) => {
      const program = runProgram(["agent", ...args, "--config", config], {});
      const [code] = await program.exited;
      return { code, output: program.output() };
    };
    const to = ["--url", app.url, "--token", registration, "--executor", "shell"];
    const unknown = await call("register", "--url", app.url, "--token", "x", "--executor", "shell");
    expect(unknown.code).to.equal(78);
    expect(unknown.output).to.match(/^The service refuses the registration: 403 .*\n$/);
    const registered = await call("register", ...to, "--name", "once", "--tags", "once");
    expect(registered.code, registered.output).to.equal(0);
    expect((await stat(config)).mode & 0o777).to.equal(0o600);
    expect((await call("register", ...to)).code).to.equal(78);

    const pipeline = await given(
      "build:\n  tags: [once]\n  script: ['echo once > a']\n  artifacts: {paths: [a]}\n",
    );
    const ran = await call("run", "--once");
    expect(ran.code, ran.output).to.equal(0);
    expect(ran.output).to.match(/Job \d+ build of anna\/search ended: success\.\n$/);
    expect((await ended(pipeline))["build"]?.["status"]).to.equal("SUCCESS");

    const removed = await call("unregister");
    expect(removed.code, removed.output).to.equal(0);
    const list = await app.get(runners.base, { token });
    expect(list.text).not.to.include('"once"');
    expect((await call("run")).output).to.match(/^There is no agent at /);
  });
});
