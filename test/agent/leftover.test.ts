import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import type { Client } from "../../src/agent/client.ts";
import type { Executor } from "../../src/agent/executor.ts";
import { endLeftovers, noteRun } from "../../src/agent/leftover.ts";
import { LogFile } from "../../src/agent/log-file.ts";

describe("what an agent that was killed left behind", () => {
  let workDirectory: string;
  beforeEach(async () => {
    workDirectory = await mkdtemp(path.join(tmpdir(), "lf-leftover-"));
  });
  afterEach(() => rm(workDirectory, { recursive: true, force: true }));

  it("is removed also where nothing of it can be sent", async () => {
    const root = path.join(workDirectory, "jobs", "7-abc");
    await mkdir(path.join(root, "builds"), { recursive: true });
    await writeFile(path.join(root, "builds", "large"), "x");
    // Its log is gone already.
    await noteRun(root, { id: 7, token: "glcbt-1" });
    const reported: string[] = [];
    await endLeftovers({
      client: {} as Client,
      executor: { name: "shell", clean: () => Promise.resolve() } as unknown as Executor,
      workDirectory,
      systemId: "s_1",
      report: (text) => void reported.push(text),
    });
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
