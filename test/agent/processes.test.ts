import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { type Command, runToEnd } from "../../src/agent/processes.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

const run = (command: Omit<Command, "cwd" | "env" | "hasInfo">) =>
  runToEnd(
    { ...command, cwd: "/", env: { PATH: "/usr/bin:/bin" }, hasInfo: true },
    { onOutput: () => undefined, signal: new AbortController().signal },
  );

/** Ended processes stay listed until their parent reads how they ended. */
async function isAlive(pid: string): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "State:\tX");
  return !/^State:\t[ZX]/m.test(status);
}

describe("a program that makes a sandbox for a script", () => {
  needsProgram("bash", "ps", "setsid");

  it("has ended when the first process of the sandbox has, which ends after it", async () => {
    const file = path.join(await temporaryDirectory(), "pid");
    const lines = [
      "env -i setsid sleep 300 <&- >&- 2>&- 3>&- &",
      `echo "$!" > ${file}`,
      // Once it is out of reach by its group and its environment.
      'until [ "$(ps -o args= -p "$!")" = "sleep 300" ]; do :; done',
      'echo "{\\"child-pid\\": $!}" >&3',
    ];
    const ended = await run({ program: "bash", args: ["-c", lines.join("\n")] });
    expect(ended).to.deep.equal({ code: 0, signal: null });
    const pid = (await readFile(file, "utf8")).trim();
    expect(await isAlive(pid)).to.equal(false);
  });

  it("is reported when it cannot be started", async () => {
    const outcome = await run({ program: "/nowhere/bwrap", args: [] }).catch(String);
    expect(outcome).to.equal("Error: spawn /nowhere/bwrap ENOENT");
  });
});
