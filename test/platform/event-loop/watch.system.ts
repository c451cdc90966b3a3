import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { killFile, readKills } from "../../../src/platform/event-loop/kill-file.ts";
import { eventually } from "../../support/app/eventually.ts";
import { compiledFile } from "../../support/compiled.ts";
import { killHard } from "../../support/process/process.ts";
import type { Answer, Order } from "../../support/process/stalling-program.ts";

const stallSeconds = 0.5;
const bad = { name: "badOperation", caller: "user-1", how: "computes" } as const;

describe("the watcher of the event loop", () => {
  let dataDir: string;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), "lf-stall-"));
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map(killHard));
    await rm(dataDir, { recursive: true, force: true });
  });

  const start = async (execArgv: readonly string[] = [], seconds = stallSeconds) => {
    const file = compiledFile("test/support/process/stalling-program.ts");
    const stdio: ["ignore", "pipe", "pipe", "ipc"] = ["ignore", "pipe", "pipe", "ipc"];
    const child = fork(file, [String(seconds), dataDir], { execArgv: [...execArgv], stdio });
    children.push(child);
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    await once(child, "message");
    const ended = once(child, "close").then(([, signal]) => ({ signal, output }));
    const answer = async (order: Order): Promise<Answer> => {
      const answered = once(child, "message");
      child.send(order);
      return (await answered)[0];
    };
    return { child, ended, answer };
  };
  const killedBy = async (order: Order) => {
    const { child, ended } = await start();
    child.send(order);
    const { signal, output } = await ended;
    expect(signal).to.equal("SIGKILL");
    return JSON.parse(output.trim()) as Readonly<Record<string, unknown>>;
  };

  /** A process that stands still all that time is killed at its end. */
  const limitPasses = async (): Promise<void> => {
    await killedBy({ ...bad, caller: "user-9" });
    await rm(killFile(dataDir));
  };

  for (const how of ["computes", "waits"] as const) {
    it(`kills a process whose loop ${how}, and logs the operation and its caller`, async () => {
      const line = await killedBy({ ...bad, how });
      expect(line).to.include({ level: "fatal", role: "test", caller: bad.caller });
      expect(line["operation"]).to.equal(bad.name);
      expect(line["stillMs"]).to.be.at.least(stallSeconds * 1000);
    });
  }

  it("names the operation that resumed last, not the one that began last", async () => {
    const line = await killedBy({ ...bad, beside: "goodOperation" });
    expect(line["operation"]).to.equal(bad.name);
  });

  it("names no operation for code that belongs to none, and logs the one before it", async () => {
    const { child, ended, answer } = await start();
    await answer({ name: "before", caller: "user-2", how: "not" });
    child.send({ ...bad, name: "" });
    const line = JSON.parse((await ended).output) as Readonly<Record<string, unknown>>;
    expect(line["operation"]).to.equal(null);
    expect(line["operationBefore"]).to.deep.equal({ name: "before", caller: "user-2" });
  });

  it("names no operation that has ended, whose connection others go on to use", async () => {
    const line = await killedBy({ ...bad, how: "computes after its end" });
    expect(line).to.include({ operation: null, caller: null });
  });

  it("suspends an operation for its caller alone after two kills, in other processes too", async () => {
    const { answer } = await start();
    await killedBy(bad);
    expect(await answer({ ...bad, how: "not" })).to.deep.equal({ suspended: false });
    await killedBy(bad);
    // The other process reads the file at its next tick.
    await eventually(async () => (await answer({ ...bad, how: "not" })).suspended);
    const other = { ...bad, how: "not", caller: "user-2" } as const;
    expect(await answer(other)).to.deep.equal({ suspended: false });
    const again = await start();
    expect(await again.answer({ ...bad, how: "not" })).to.deep.equal({ suspended: true });
  });

  it("kills nobody after the process was stopped for longer than the limit", async () => {
    const { child, ended, answer } = await start();
    child.kill("SIGSTOP");
    await limitPasses();
    child.kill("SIGCONT");
    await answer({ ...bad, how: "not" });
    await limitPasses();
    expect(child.signalCode).to.equal(null);
    child.send(bad);
    expect((await ended).signal).to.equal("SIGKILL");
  });

  it("kills nobody while an inspector is open, nor where the limit is 0", async () => {
    const spared = [await start(["--inspect=0"]), await start([], 0)];
    for (const { child } of spared) child.send(bad);
    await limitPasses();
    expect(spared.map(({ child }) => child.signalCode)).to.deep.equal([null, null]);
  });

  it("reads its file past lines that are broken", async () => {
    await killedBy(bad);
    await appendFile(killFile(dataDir), '{"at":1\n[]\n\n');
    await killedBy({ ...bad, caller: "user-3" });
    const kills = readKills(killFile(dataDir), Date.now());
    expect(kills.map(({ running }) => running?.caller)).to.deep.equal(["user-1", "user-3"]);
    // Dropped at the start of the process before the second kill.
    expect((await readFile(killFile(dataDir), "utf8")).trim().split("\n")).to.have.length(2);
  });
});
