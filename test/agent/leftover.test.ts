import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import type { Client, Sent } from "../../src/agent/client.ts";
import type { Executor } from "../../src/agent/executor-contract.ts";
import { endLeftovers, noteRun } from "../../src/agent/leftover.ts";
import { LogFile } from "../../src/agent/log-file.ts";

describe("what an agent that was killed left behind", () => {
  let workDirectory: string;
  beforeEach(async () => {
    workDirectory = await mkdtemp(path.join(tmpdir(), "lf-leftover-"));
  });
  afterEach(() => rm(workDirectory, { recursive: true, force: true }));

  async function givenRun(): Promise<string> {
    const root = path.join(workDirectory, "jobs", "7-abc");
    await mkdir(path.join(root, "builds"), { recursive: true });
    await writeFile(path.join(root, "builds", "large"), "x");
    await noteRun(root, { id: 7, token: "glcbt-1" });
    return root;
  }

  async function endedWith(
    client: Client,
    more: Partial<Executor> = {},
  ): Promise<readonly string[]> {
    const reported: string[] = [];
    const executor = { name: "shell", ...more } as Executor;
    const report = (text: string) => void reported.push(text);
    await endLeftovers({ client, executor, workDirectory, systemId: "s_1", report });
    return reported;
  }

  it("fails at the next start, with the rest of its log", async () => {
    const root = await givenRun();
    await writeFile(path.join(root, "log"), "one line\n");
    const sent: Sent[] = [];
    const reported = await endedWith({
      async send(one) {
        sent.push(one);
        return new Response(null, { status: one.method === "PATCH" ? 202 : 200 });
      },
    });
    const [piece, end] = [sent[0], sent.at(-1)];
    expect(piece).to.deep.include({ method: "PATCH", path: "/jobs/7/trace?debug_trace=false" });
    expect(String(piece?.body)).to.match(/^one line\n.*ERROR: Job failed: the agent was killed/s);
    expect(end).to.include({ method: "PUT", path: "/jobs/7" });
    expect(end?.json).to.include({
      ...{ token: "glcbt-1", state: "failed", failure_reason: "runner_system_failure" },
    });
    expect(reported).to.deep.equal(["Job 7 failed: the agent was killed."]);
    expect(await readdir(workDirectory)).to.deep.equal([]);
  });

  it("is removed with a cache that it was writing, but for those that it had written", async () => {
    const caches = path.join(workDirectory, "cache", "12");
    await mkdir(caches, { recursive: true });
    for (const name of ["whole.zip", "begun.new"]) await writeFile(path.join(caches, name), "x");
    await endedWith({ send: async () => new Response(null, { status: 200 }) });
    expect(await readdir(caches)).to.deep.equal(["whole.zip"]);
  });

  it("stops no start where containers cannot be removed", async () => {
    await givenRun();
    const send = async () => new Response(null, { status: 200 });
    const removeAll = () => Promise.reject(new Error("no engine"));
    const reported = await endedWith({ send }, { removeAll });
    expect(reported[0]).to.equal("Containers of jobs that were cut off are left: Error: no engine");
    expect(await readdir(workDirectory)).to.deep.equal([]);
  });

  it("is removed also where nothing of it can be sent", async () => {
    // Its log is gone already.
    await givenRun();
    const reported = await endedWith({ send: () => Promise.reject(new Error("unused")) });
    expect(reported).to.have.length(1);
    expect(reported[0]).to.match(/7-abc is removed unsent: Error: ENOENT/);
    expect(await readdir(workDirectory)).to.deep.equal([]);
  });
});

// Other systems have no file that is always full.
if (process.platform === "linux") {
  describe("the log of a job on a full disk", () => {
    it("ends where the disk is full, and the agent goes on", () => {
      const log = LogFile.reopen("/dev/full");
      log.write("one line\n");
      log.error("Job failed");
      expect(log.size).to.equal(0);
      log.close();
    });
  });
}
