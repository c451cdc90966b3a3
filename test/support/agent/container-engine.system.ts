import { spawnSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { compiled } from "../compiled.ts";
import { temporaryDirectory } from "../git/git.ts";
import { skipFor } from "../process/program.ts";
import { missingForImages } from "./container-engine.ts";

const engines = {
  "that is reached and runs nothing": {
    run: "crun: cannot set memory limits: cgroups are read-only",
    info: "",
  },
  "that is not reached": { run: "", info: "Cannot connect to the daemon" },
};

/** An engine whose commands work, but for those with a problem. */
function programOf({ run, info }: Readonly<{ run: string; info: string }>): string {
  const fail = (problem: string): string =>
    problem === "" ? "exit 0" : `printf '%s\\n' '${problem}' >&2; exit 126`;
  return `#!/bin/sh\ncase $1 in run) ${fail(run)};; info) ${fail(info)};; esac\n`;
}

describe("tests that need containers, beside an engine", () => {
  skipFor(missingForImages);

  for (const [what, problems] of Object.entries(engines)) {
    it(`${what}, are skipped with what it says`, async () => {
      const directory = await temporaryDirectory();
      for (const name of ["docker", "podman"]) {
        await writeFile(path.join(directory, name), programOf(problems));
        await chmod(path.join(directory, name), 0o755);
      }
      const file = path.join(directory, "needs.test.mjs");
      const helper = JSON.stringify(compiled("test/support/agent/container-engine.ts"));
      await writeFile(
        file,
        `import { testEngine } from ${helper};
        await testEngine();
        describe("a file", () => { it("is skipped", () => { throw new Error("is not run"); }); });`,
      );
      const env = {
        ...process.env,
        PATH: `${directory}:${process.env["PATH"]}`,
        TEST_DATABASE_URL: "postgres://127.0.0.1:1/x",
        TEST_DATABASE_TEMPLATE: "x",
        NO_COLOR: "1",
      };
      const mocha = path.resolve("node_modules/mocha/bin/mocha.js");
      const { stdout } = spawnSync(process.execPath, [mocha, file], { env, encoding: "utf8" });
      const last = stdout.trimEnd().split("\n").at(-1);
      expect(last, stdout).to.match(/^skipped 1 tests: /);
      expect(last).to.contain(problems.run || problems.info);
    });
  }
});
