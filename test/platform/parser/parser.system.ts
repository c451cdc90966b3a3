import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { expect } from "chai";

import { asCaller } from "../../../src/platform/caller.ts";
import { TooComplex } from "../../../src/platform/parser/refusal.ts";
import { eventually } from "../../support/app/eventually.ts";
import { nodeArgs } from "../../support/compiled.ts";
import { errorOf, taskOf } from "../../support/parser/task.ts";

const task = taskOf();

describe("a task in a process", () => {
  it("is refused at its limit of memory, which it takes in heap", async () => {
    const error = await errorOf(task.run({ kind: "heap" }));
    expect(error).to.be.instanceOf(TooComplex);
    expect(String(error)).to.contain("memory");
    expect(await task.run({ kind: "double", number: 1 })).to.have.property("doubled", 2);
  });

  it("leaves a process to others, however many tasks a caller has", async () => {
    const flood = Array.from({ length: 4 }, () =>
      asCaller("anna", () => errorOf(taskOf(1_500).run({ kind: "endless" }))),
    );
    let ended = 0;
    for (const each of flood) void each.then(() => (ended += 1));
    await asCaller("bob", () => task.run({ kind: "double", number: 1 }));
    expect(ended).to.be.at.most(1);
    await Promise.all(flood);
  });

  it("ends with a program that is killed", async () => {
    const [program = "", ...rest] = nodeArgs("test/support/parser/orphan.ts");
    const parent = spawn(process.execPath, [program, ...rest], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    await eventually(() => expect(isBusy(pid)).to.equal(true));
    parent.kill("SIGKILL");
    await eventually(() => expect(existsSync(`/proc/${pid}`)).to.equal(false));
  });

  it("starts no process before the first task", () => {
    const source = `
      await import(${JSON.stringify(new URL("../../../src/platform/parser/parser.js", import.meta.url).href)});
      console.log(process.getActiveResourcesInfo().includes("ProcessWrap"));`;
    const shown = execFileSync(process.execPath, ["--input-type=module", "--eval", source]);
    expect(shown.toString().trim()).to.equal("false");
  });
});

/** Whether a process has used a tenth of a second of a processor since it began. */
function isBusy(pid: number): boolean {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) > 20;
}
