import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { type Answer, sender } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { randomNumbers } from "../support/app/random.ts";
import { runProgram, type Service, startService } from "../support/app/service.ts";
import { startReceiver } from "../support/client/receiver.ts";
import { commit, git, workingCopy } from "../support/git/git.ts";
import { freePort } from "../support/process/free-port.ts";
import { chaosClient } from "./client.ts";
import { History } from "./history.ts";
import {
  type Acknowledged,
  changeTitle,
  createBranches,
  createIssues,
  createProjects,
  revokeTokens,
} from "./writers.ts";

/** `KILLS_SECONDS=3600 KILLS_SEED=7 npm run test:kills` kills for an hour what a run before killed. */
const seconds = Number(process.env["KILLS_SECONDS"] ?? 60);
const seed = Number(process.env["KILLS_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const victims = ["http", "projections", "workers", "event-store", "postgres"] as const;
const recoveryMaxMs = 120_000;
/** Longer than five minutes, after which a line is checked whose job the queue lost, and the minute of its sweep. */
const deliveryMaxMs = 400_000;
/** What a push left that lost its process is accounted for every minute. */
const healingMaxMs = 150_000;
/** Fewer prove nothing; a slow machine is given more time for them. */
const [writesMin, extraMs] = [4, 120_000];
const password = "a password for the chaos test";
type Issue = Readonly<{ localId: number; title: string }>;
const basic = basicAuth("admin", password);

describe(`random kills for ${seconds} s, seed ${seed}`, function () {
  this.timeout((seconds + 800) * 1000);

  let root: string;
  let service: Service;
  let history: History;
  let token: string;
  let received: () => ReadonlySet<string>;
  const done: Acknowledged = {
    ...{ projects: [], branches: [], revoked: [] },
    ...{ issues: new Map(), title: { reached: 0 } },
  };
  const recoveries: { victim: string; ms: number }[] = [];

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-chaos-"));
    history = new History(path.join(tmpdir(), `ledgerforge-chaos-${seed}.jsonl`));
    const port = String(await freePort());
    const environment = { PORT: port, ADMIN_PASSWORD: password, OUTBOUND_ALLOW: "127.0.0.1/32" };
    service = await startService(path.join(root, "data"), environment);
    await arrange();
    await killAtRandom();
  });
  let failed = false;
  afterEach(function () {
    failed ||= this.currentTest?.state === "failed";
  });
  after(async () => {
    await service.stop();
    await rm(root, { recursive: true, force: true });
    if (!failed && history.faults().length === 0) await rm(history.file, { force: true });
  });

  it("shows no fault to a client that tries again", () => {
    expect(history.faults().slice(0, 5), `see ${history.file}`).to.deep.equal([]);
    for (const written of [done.projects, done.branches, done.revoked, [...done.issues]]) {
      expect(written.length).to.be.at.least(writesMin);
    }
  });

  it("keeps everything that was acknowledged", async () => {
    for (const alias of done.projects) {
      const { status } = await answered(`/project/admin/${alias}`, token);
      expect(status, alias).to.equal(200);
    }
    for (const revoked of done.revoked) {
      expect((await answered("/user/me", revoked)).status).to.equal(403);
    }
    const branches = await answered("/project/admin/watched/branch?size=1", token);
    const { totalElements } = branches.body["page"] as { totalElements: number };
    expect(totalElements - 1).to.be.at.least(done.branches.length);
  });

  it("numbers issues from 1 without a gap, as it was acknowledged", async () => {
    const found = new Map<number, string>();
    for (let page = 0, pages = 1; page < pages; page += 1) {
      const at = `/project/admin/watched/issue?order=asc&size=100&page=${page}`;
      const { body } = await answered(at, token);
      const { issueModelList } = body["_embedded"] as { issueModelList: Issue[] };
      for (const { localId, title } of issueModelList) found.set(localId, title);
      pages = (body["page"] as { totalPages: number }).totalPages;
    }
    const numbers = [...found.keys()].sort((a, b) => a - b);
    expect(numbers).to.deep.equal(numbers.map((_, index) => index + 1));
    for (const [number, title] of done.issues) expect(found.get(number)).to.equal(title);
  });

  it("delivers every webhook in the minutes after the last kill", async () => {
    const missing = () => done.branches.filter((branch) => !received().has(branch));
    await eventually(() => missing().length === 0, deliveryMaxMs).catch(() => undefined);
    expect(missing()).to.deep.equal([]);
  });

  it("leaves nothing that doctor finds", async () => {
    const environment = { DATA_DIR: path.join(root, "data"), LOG_LEVEL: "silent" };
    const looked = async () => {
      const doctor = runProgram(["doctor", "--read-models"], environment);
      const [code] = await doctor.exited;
      expect([code, doctor.output().trim()]).to.deep.equal([0, "Everything fits."]);
      return true;
    };
    await eventually(looked, healingMaxMs);
  });

  it("recovers from each kill, and reports how long it took", () => {
    const times = recoveries.map(({ ms }) => ms).sort((a, b) => a - b);
    const median = times[Math.floor(times.length / 2)] ?? 0;
    const counts = `${done.projects.length} projects, ${done.branches.length} branches`;
    const kills = recoveries.map(({ victim, ms }) => `${victim} ${ms}`).join(", ");
    process.stdout.write(`      ${counts}; median ${median} ms; ms after each kill: ${kills}\n`);
    expect(times.length).to.be.greaterThan(0);
    expect(Math.max(...times)).to.be.lessThan(recoveryMaxMs);
  });

  /** Repeats the request while the service answers 503. */
  async function answered(at: string, token: string): Promise<Answer> {
    const until = performance.now() + recoveryMaxMs;
    for (;;) {
      const answer = await sender(service.url)("GET", at, { token });
      if (answer.status !== 503 || performance.now() > until) return answer;
      await delay(100);
    }
  }

  async function arrange(): Promise<void> {
    const send = sender(service.url);
    const must = async (at: string, options: Parameters<typeof send>[2]) => {
      const answer = await send("POST", at, options);
      expect(answer.status, answer.text).to.equal(200);
      return answer.body;
    };
    const scopes = ["USER_READ", "USER_WRITE", "PROJECT_WRITE", "PROJECT_EDIT"];
    const create = "/user/settings/access-token/create";
    const headers = { authorization: basic };
    token = String((await must(create, { headers, body: { name: "chaos", scopes } }))["token"]);
    const watched = { title: "title 0", alias: "watched", isPrivate: true };
    await must("/project", { token, body: watched });
    const receiver = await startReceiver();
    const branchOf = (body: string): string => /made-\d+/.exec(body)?.[0] ?? "";
    received = () => new Set(receiver.received.map(({ body }) => branchOf(body)));
    const hook = { url: receiver.url, events: { BRANCH_CREATE: true } };
    await must("/project/admin/watched/setting/webhook", { token, body: hook });

    const parent = path.join(root, "work");
    await mkdir(parent);
    const copy = await workingCopy(parent, "copy");
    await commit(copy, "First", { "a.txt": "a\n" });
    const remote = `${service.url.replace("//", `//admin:${token}@`)}/project/admin/watched.git`;
    await git(copy, "push", "--quiet", remote, "HEAD:refs/heads/main");
  }

  async function killAtRandom(): Promise<void> {
    const random = randomNumbers(seed);
    const ending = new AbortController();
    const { signal } = ending;
    const client = chaosClient(service.url, history, signal);
    const writing = { client, token, basic, history, signal, done };
    const writers = [createProjects, createBranches, createIssues, revokeTokens, changeTitle];
    const running = writers.map((write) => write(writing));
    const until = performance.now() + seconds * 1000;
    const isEnough = () =>
      [done.projects, done.branches, done.revoked].every(({ length }) => length >= writesMin);
    while (performance.now() < until || (!isEnough() && performance.now() < until + extraMs)) {
      // How far apart kills are is what is tried here.
      await delay(500 + random(4_000));
      const victim = victims[random(victims.length)] ?? "http";
      await kill(victim);
    }
    ending.abort();
    await Promise.all(running);
  }

  async function kill(victim: (typeof victims)[number]): Promise<void> {
    const pid = await service.pidOf(victim).catch(() => undefined);
    if (pid === undefined) return;
    const startedAt = performance.now();
    process.kill(pid, "SIGKILL");
    history.note({ kind: "kill", what: victim });
    await eventually(async () => (await service.pidOf(victim)) !== pid, recoveryMaxMs);
    await eventually(async () => {
      const { status } = await sender(service.url)("GET", "/health/ready");
      return status === 200;
    }, recoveryMaxMs);
    recoveries.push({ victim, ms: Math.round(performance.now() - startedAt) });
  }
});
