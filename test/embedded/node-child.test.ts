import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { ConfigError } from "../../src/config.ts";
import { type NodeChild, startNodeChild } from "../../src/embedded/node-child.ts";
import { holderOf } from "../../src/embedded/pid-file.ts";
import { eventually } from "../support/app/eventually.ts";
import { compiledFile } from "../support/compiled.ts";
import { forkProgram, isRunning, killHard } from "../support/process/process.ts";

type Ready = { manner: string; value: string };

describe("a child process", () => {
  let dir: string;
  let child: NodeChild<Ready> | undefined;
  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "lf-child-"));
  });
  afterEach(async () => {
    await child?.close();
    child = undefined;
  });
  after(() => rm(dir, { recursive: true }));

  const start = (
    manner: string,
    settings = Promise.resolve({ VALUE: "given" }),
    closeTimeoutMs = 60_000,
  ) =>
    startNodeChild<Ready>({
      program: compiledFile("test/support/process/child-program.ts"),
      args: [manner],
      environment: {},
      settings,
      logFile: path.join(dir, "child.log"),
      pidFile: path.join(dir, "child.pid"),
      closeTimeoutMs,
    });
  const log = () => readFile(path.join(dir, "child.log"), "utf8");

  it("says what it has to say when it is ready, and can be found by its pid file", async () => {
    child = await start("well");
    expect(child.ready).to.deep.equal({ manner: "well", value: "given" });
    expect(await holderOf(path.join(dir, "child.pid"))).to.equal(child.pid);
    expect(await log()).to.include("started well");
    expect((await stat(path.join(dir, "child.log"))).mode & 0o777).to.equal(0o600);
  });

  it("is not kept when there are no settings for it in the end", async () => {
    const settings = Promise.reject(new Error("the database did not start"));
    await expect(start("well", settings)).to.be.rejectedWith("the database did not start");
    expect(await log()).to.match(/asked to end\s*$/);
  });

  it("ends on request, and its pid file is removed", async () => {
    child = await start("well");
    await child.close();
    expect(await isRunning(child.pid)).to.equal(false);
    expect(await log()).to.include("asked to end");
    await expect(stat(path.join(dir, "child.pid"))).to.be.rejectedWith(/ENOENT/);
  });

  it("is ended by force when it does not listen", async () => {
    child = await start("stubborn", undefined, 500);
    await child.close();
    expect(await isRunning(child.pid)).to.equal(false);
  });

  it("that never will start is an error of the configuration", async () => {
    await expect(start("misconfigured")).to.be.rejectedWith(ConfigError, "the reason is here");
  });

  it("that fails to start is reported with the end of its log", async () => {
    await expect(start("fails")).to.be.rejectedWith(/fails did not start[\s\S]*the reason is here/);
  });

  it("reports when it ended by itself", async () => {
    child = await start("well");
    process.kill(child.pid, "SIGKILL");
    await child.exited;
    expect(await isRunning(child.pid)).to.equal(false);
  });

  it("ends when the process that started it is killed", async () => {
    const program = path.resolve("test/support/process/node-child-process.ts");
    const { child: starter, message } = await forkProgram<{ pid: number }>(program, [dir]);
    expect(await isRunning(message.pid)).to.equal(true);

    await killHard(starter);

    await eventually(async () => !(await isRunning(message.pid)));
  });
});
