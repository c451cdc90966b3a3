import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import {
  claimPidFile,
  holderOf,
  PidFileHeld,
  releasePidFile,
  stopHolder,
} from "../../src/embedded/pid-file.ts";
import { isRunning } from "../support/process/process.ts";

describe("a pid file", () => {
  let dir: string;
  let file: string;
  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "lf-pid-"));
    file = path.join(dir, "x.pid");
  });
  afterEach(() => releasePidFile(file));
  after(() => rm(dir, { recursive: true }));

  async function sleeper(script = "exec sleep 60"): Promise<number> {
    const child = spawn("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] });
    if (script.includes("echo")) await once(child.stdout, "data");
    else await once(child, "spawn");
    return child.pid!;
  }

  it("names the process that holds it, to its owner alone", async () => {
    await claimPidFile(file, process.pid);
    expect(await holderOf(file)).to.equal(process.pid);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(await readdir(dir)).to.deep.equal(["x.pid"]);
  });

  it("is refused to a second process while the first lives, and free once it is gone", async () => {
    const pid = await sleeper();
    await claimPidFile(file, pid);
    await expect(claimPidFile(file, process.pid)).to.be.rejectedWith(PidFileHeld, String(pid));

    await stopHolder(file, 5_000);
    expect(await isRunning(pid)).to.equal(false);
    await claimPidFile(file, process.pid);
    expect(await holderOf(file)).to.equal(process.pid);
  });

  for (const [state, text] of [
    ["there is none", undefined],
    ["its holder is gone", "1 some other time\n"],
  ] as const) {
    it(`goes to one of several that claim it at once when ${state}`, async () => {
      const pids = await Promise.all([sleeper(), sleeper(), sleeper(), sleeper()]);
      for (let round = 0; round < 50; round += 1) {
        await rm(file, { force: true });
        if (text !== undefined) await writeFile(file, text);
        const claims = await Promise.allSettled(pids.map((pid) => claimPidFile(file, pid)));
        expect(claims.filter(({ status }) => status === "fulfilled")).to.have.length(1);
        expect(await readdir(dir)).to.deep.equal(["x.pid"]);
      }
      for (const pid of pids) process.kill(pid);
    });
  }

  it("is nobody's when its pid belongs to a process that began at another time", async () => {
    await writeFile(file, `${process.pid} some other time\n`);
    expect(await holderOf(file)).to.equal(undefined);
    await stopHolder(file, 1_000);
    await claimPidFile(file, process.pid);
  });

  for (const text of ["", "x", "123", "-1 now\n", "0 now\n"]) {
    it(`is nobody's when it reads ${JSON.stringify(text)}`, async () => {
      await writeFile(file, text);
      expect(await holderOf(file)).to.equal(undefined);
    });
  }

  it("has its holder ended by force when asking did not help", async () => {
    const pid = await sleeper("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    await claimPidFile(file, pid);

    await stopHolder(file, 300);

    expect(await isRunning(pid)).to.equal(false);
    await expect(readFile(file)).to.be.rejectedWith(/ENOENT/);
  });
});
