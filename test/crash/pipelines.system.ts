import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { newSystemId, writeAgentConfig } from "../../src/agent/config.ts";
import { registerAgent } from "../../src/agent/register.ts";
import { readSettings } from "../../src/config.ts";
import { configOfRunning } from "../../src/embedded/service-file.ts";
import type { Recorded } from "../../src/events/core/event.ts";
import { openEventStore } from "../../src/platform/event-store/eventstoredb.ts";
import { startTalker, type Talker } from "../support/agent/talker.ts";
import { sender } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { type Program, runProgram, type Service, startService } from "../support/app/service.ts";
import { freePort } from "../support/process/free-port.ts";
import { needsProgram } from "../support/process/program.ts";

const victims = ["agent", "http", "workers", "projections"] as const;
const password = "a password for the crash test";
/** Of a busy machine: a job of a queue whose worker was killed is found after 25 s. */
const recoveryMs = 240_000;
const lines = 20;

/** Jobs that fail for want of their agent run again; each writes into files that its script begins and has ended. */
const fileOf = (begun: string, ledger: string): string =>
  [
    "stages: [build, test]",
    "default: {retry: {max: 2, when: runner_system_failure}}",
    ".print:",
    "  script:",
    `    - echo $CI_JOB_ID >> ${begun}`,
    `    - for n in $(seq 1 ${lines}); do echo "$CI_JOB_NAME line $n"; sleep 0.03; done`,
    `    - echo $CI_JOB_ID >> ${ledger}`,
    "one: {extends: .print, stage: build}",
    "two: {extends: .print, stage: build}",
    "after: {extends: .print, stage: test, needs: [one]}",
    "talk: {stage: build, tags: [talk], script: [x]}",
    "last: {extends: .print, stage: test}",
  ].join("\n");

describe("killing the service and an agent in turn while pipelines run", function () {
  this.timeout(600_000);
  needsProgram("bash");

  let root: string;
  let service: Service;
  let token: string;
  let agent: Program;
  let talkToken: string;
  let send: ReturnType<typeof sender>;
  let log: readonly Recorded[];
  const base = "/project/admin/built";
  const talkers: Talker[] = [];
  const started: string[] = [];

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-crash-"));
    const port = String(await freePort());
    const environment = { PORT: port, ADMIN_PASSWORD: password, LOG_LEVEL: "warn" };
    service = await startService(path.join(root, "data"), environment);
    send = sender(service.url);
    await givenProject();
    await startAgents();
    for (const victim of victims) {
      const before = (await readIds(begun())).length;
      started.push(await startPipeline());
      const talker = await startTalker(send, talkToken);
      talkers.push(talker);
      await talker.acknowledged(3);
      await eventually(() => isAgentBusy(before), recoveryMs);
      await killHard(victim);
      await talker.acknowledged(3);
      await talker.end();
      // What makes a blob of the log is stopped as well.
      if (victim !== "workers") await killHard("workers");
    }
    await eventually(async () => (await unfinished()).length === 0, recoveryMs);
    await eventually(async () => {
      log = await readLog();
      // A job whose agent was killed before its first line has no log.
      const stored = new Set(dataOf("JobLogStored").map(({ jobId }) => jobId));
      return dataOf("JobSucceeded").every(({ jobId }) => stored.has(jobId));
    }, recoveryMs);
  });
  after(async () => {
    agent?.child.kill("SIGKILL");
    await service.stop();
    await rm(root, { recursive: true, force: true });
  });

  it("ends every pipeline, and every job of it once", async () => {
    for (const localId of started) {
      expect((await get(`/cicd/pipeline/${localId}`))["status"], localId).to.equal("SUCCESS");
    }
    const succeeded = dataOf("JobSucceeded").map(({ jobId }) => jobId);
    expect(new Set(succeeded)).to.have.length(succeeded.length);
    expect(succeeded).to.have.length(victims.length * 5);
  });

  it("runs no job twice at a time, and again only where its agent was killed", async () => {
    const isOpen = new Map<unknown, boolean>();
    for (const { type, data } of log) {
      if (type === "JobStarted") {
        expect(isOpen.get(data["jobId"]), "given once").not.to.equal(true);
        isOpen.set(data["jobId"], true);
      } else if (["JobSucceeded", "JobFailed", "JobReturned"].includes(type)) {
        isOpen.set(data["jobId"], false);
      }
    }
    expect([...isOpen.values()]).not.to.include(true);
    for (const { reason } of dataOf("JobFailed")) expect(reason).to.equal("runner_system_failure");
    // One that was killed before it confirmed its job gives it back.
    const repeated = dataOf("JobFailed", "JobReturned").length;
    expect(repeated).to.be.at.least(1);
    const came = await readIds(ledger());
    // A script that ended before its agent reported it runs once more.
    expect(came.length).to.be.within(victims.length * 4, victims.length * 4 + repeated);
  });

  it("keeps every line of a log that was acknowledged, also in the blob", async () => {
    const stored = dataOf("JobLogStored");
    for (const localId of started) {
      for (const job of await jobsOf(localId)) {
        const text = await readText(`/cicd/job/${job["localId"]}/log`);
        const blob = stored.find(
          ({ jobId, sha256 }) =>
            jobId === job["id"] && sha256 === createHash("sha256").update(text).digest("hex"),
        );
        expect(blob, `${job["name"]} of ${localId}`).not.to.equal(undefined);
        if (job["name"] === "talk") continue;
        const printed = text.split("\n").filter((line) => line.includes(`${job["name"]} line `));
        expect(printed, `${job["name"]} of ${localId}`).to.have.length(lines);
      }
    }
    for (const [n, localId] of started.entries()) {
      const talk = (await jobsOf(localId)).find(({ name }) => name === "talk");
      const text = await readText(`/cicd/job/${talk?.["localId"]}/log`);
      expect(text).to.equal(talkers[n]?.sent());
    }
  });

  const begun = () => path.join(root, "begun");
  const ledger = () => path.join(root, "ledger");
  const readIds = async (file: string): Promise<readonly string[]> =>
    (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);
  const dataOf = (...types: readonly string[]) =>
    log.filter(({ type }) => types.includes(type)).map(({ data }) => data);

  async function givenProject(): Promise<void> {
    const basic = basicAuth("admin", password);
    const scopes = ["PROJECT_READ", "PROJECT_WRITE", "PROJECT_EDIT", "USER_WRITE"];
    const headers = { authorization: basic };
    const create = "/user/settings/access-token/create";
    token = String((await post(create, { name: "t", scopes }, { headers }))["token"]);
    await post("/project", { title: "Built", alias: "built", isPrivate: true });
    const action = { action: "CREATE", path: ".forge-ci.yaml", content: fileOf(begun(), ledger()) };
    await post(`${base}/commit`, { branch: "main", message: "A [skip ci]", actions: [action] });
  }

  async function startAgents(): Promise<void> {
    const { registrationToken } = await get("/runners/registration-info");
    const common = { url: service.url, registrationToken: String(registrationToken), locked: true };
    const register = (name: string, tags: readonly string[]) =>
      registerAgent({ ...common, name, tags, runUntagged: name === "own", executor: "shell" });
    talkToken = await register("talk", ["talk"]);
    const own = { name: "own", executor: "shell", systemId: newSystemId() } as const;
    await writeAgentConfig(agentFile(), {
      ...own,
      ...{ url: service.url, token: await register("own", []), concurrency: 2, readable: [] },
      pullPolicies: ["always"],
    });
    runAgent();
  }

  const agentFile = () => path.join(root, "agent", "config.json");
  function runAgent(): void {
    agent = runProgram(["agent", "run", "--config", agentFile()], {});
  }

  async function killHard(victim: (typeof victims)[number]): Promise<void> {
    if (victim !== "agent") {
      process.kill(await eventually(() => service.pidOf(victim), recoveryMs), "SIGKILL");
      return;
    }
    agent.child.kill("SIGKILL");
    await agent.exited;
    runAgent();
  }

  /** Whether a script of those that began since then is in its middle. */
  const isAgentBusy = async (before: number): Promise<boolean> => {
    const ended = new Set(await readIds(ledger()));
    return (await readIds(begun())).slice(before).some((id) => !ended.has(id));
  };

  async function startPipeline(): Promise<string> {
    return String((await post(`${base}/cicd/pipeline/start`, {}))["localId"]);
  }

  async function unfinished(): Promise<readonly unknown[]> {
    const all = await Promise.all(started.map((localId) => get(`/cicd/pipeline/${localId}`)));
    return all.filter(({ status }) => !["SUCCESS", "FAILED"].includes(String(status)));
  }

  async function jobsOf(localId: string): Promise<readonly Record<string, unknown>[]> {
    const { _embedded: page } = await get(`/cicd/pipeline/${localId}/jobs?size=50`);
    return (page as { restPipelineJobModelList: Record<string, unknown>[] })
      .restPipelineJobModelList;
  }

  async function readLog(): Promise<readonly Recorded[]> {
    const config = await configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
    const store = openEventStore(config.eventStoreUrl);
    const events: Recorded[] = [];
    for await (const event of store.readAll()) events.push(event);
    await store.close();
    return events;
  }

  /** Until the service that was killed answers again. */
  async function call(...request: Parameters<typeof send>) {
    const answer = await eventually(async () => {
      const { status, ...rest } = await send(...request);
      return status < 500 ? { status, ...rest } : undefined;
    }, recoveryMs);
    if (answer === undefined || answer.status >= 300) throw new Error(answer?.text);
    return answer;
  }
  const post = async (at: string, body: object, more: object = { token }) =>
    (await call("POST", at, { ...more, body })).body;
  const get = async (at: string) => (await call("GET", `${base}${at}`, { token })).body;
  const readText = async (at: string) => (await call("GET", `${base}${at}`, { token })).text;
});
