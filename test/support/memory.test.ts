import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { skipFor } from "./process/program.ts";

const memoryType = 0x0102_1994;
const bytesMin = 4 * 1024 ** 3;

function isRoomy(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync("/dev/shm");
    return type === memoryType && bavail * bsize >= bytesMin;
  } catch {
    return false;
  }
}

describe("temporary files of a run of tests", () => {
  skipFor(isRoomy() ? [] : ["/dev/shm has too little room"]);

  it("are in memory, PostgreSQL's among them", () => {
    expect(statfsSync(tmpdir()).type).to.equal(memoryType);
    expect(tmpdir()).to.match(/^\/dev\/shm\/lf-tests-/);
  });

  it("go with the process that has made room for them, and other users list none of them", () => {
    const module = JSON.stringify(path.resolve("test/support/memory.cjs"));
    const text = `
      require(${module}).temporaryFilesInMemory();
      const { mkdirSync, statSync } = require("node:fs");
      const directory = require("node:os").tmpdir();
      mkdirSync(directory + "/one");
      process.stdout.write([directory, (statSync(directory).mode & 0o777).toString(8)].join(" "));`;
    const [directory = "", mode] = execFileSync(process.execPath, ["--eval", text])
      .toString()
      .split(" ");
    expect(directory)
      .to.match(/^\/dev\/shm\/lf-tests-/)
      .and.not.to.equal(tmpdir());
    expect(mode).to.equal("711");
    expect(existsSync(directory)).to.equal(false);
  });

  it("go as well when that process is sent SIGTERM", async () => {
    const module = JSON.stringify(path.resolve("test/support/memory.cjs"));
    const text = `
      require(${module}).temporaryFilesInMemory();
      process.stdout.write(require("node:os").tmpdir());
      setInterval(() => undefined, 60_000);`;
    const child = spawn(process.execPath, ["--eval", text], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [directory] = (await once(child.stdout, "data")) as [Buffer];
    expect(existsSync(directory.toString())).to.equal(true);
    child.kill("SIGTERM");
    await once(child, "close");
    expect(existsSync(directory.toString())).to.equal(false);
  });
});
