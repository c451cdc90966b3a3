import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";

import { ProgramOutputs } from "../../src/platform/program-output.ts";
import { eventually } from "../support/app/eventually.ts";
import { compiled } from "../support/compiled.ts";
import { temporaryDirectory } from "../support/git/git.ts";

const parent = await temporaryDirectory();
const outputs = new ProgramOutputs();
after(() => outputs.close());

function program(script: string, ...args: readonly string[]): (end: Socket) => ChildProcess {
  return (end) => spawn("sh", ["-c", script, "sh", ...args], { stdio: ["pipe", end, "inherit"] });
}

async function read(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return Buffer.concat(all);
}

const openSockets = async (): Promise<number> => {
  const names = await readdir("/proc/self/fd");
  const links = names.map((name) => readlink(path.join("/proc/self/fd", name)).catch(() => ""));
  return (await Promise.all(links)).filter((link) => link.startsWith("socket:")).length;
};

describe("what a program writes", () => {
  it("comes whole and in order, whichever side is faster", async () => {
    const content = randomBytes(3_000_000);
    const file = path.join(parent, "content");
    await writeFile(file, content);
    for (const slow of [false, true]) {
      const { pieces } = await outputs.of(program('cat "$1"', file));
      const hash = createHash("sha256");
      let bytes = 0;
      for await (const piece of pieces) {
        // While this is read, more is read.
        if (slow) await delay(1);
        hash.update(piece);
        bytes += piece.length;
      }
      expect(bytes).to.equal(content.length);
      expect(hash.digest("hex")).to.equal(createHash("sha256").update(content).digest("hex"));
    }
  });

  it("is not written over where a small piece is still being read", async () => {
    const content = randomBytes(1_000_000);
    const file = path.join(parent, "after");
    await writeFile(file, content);
    const { program: child, pieces } = await outputs.of(
      program('printf x; read go; cat "$1"', file),
    );
    const all: Buffer[] = [];
    for await (const piece of pieces) {
      if (all.length === 0) child.stdin?.write("go\n");
      // Time for all that there is room for.
      if (all.length <= 1) await delay(100);
      all.push(Buffer.from(piece));
    }
    expect(Buffer.concat(all).equals(Buffer.concat([Buffer.from("x"), content]))).to.equal(true);
  });

  it("comes in few pieces when it is written in many", async () => {
    const { pieces } = await outputs.of(program("yes | dd bs=100 count=20000 2>&-"));
    const startedAt = performance.now();
    let count = 0;
    for await (const _ of pieces) count += 1;
    // What comes within a millisecond is passed on at once: the slower the writer, the more pieces.
    expect(count).to.be.lessThan(100 + 1.5 * (performance.now() - startedAt));
  });

  it("comes soon when nothing follows", async () => {
    const { program: child, pieces } = await outputs.of(program("echo a; read go; echo b"));
    const reading = pieces[Symbol.asyncIterator]();
    expect(String((await reading.next()).value)).to.equal("a\n");
    child.stdin?.write("go\n");
    expect(String((await reading.next()).value)).to.equal("b\n");
    expect((await reading.next()).done).to.equal(true);
  });

  it("is each program's own, also of those started at once", async () => {
    const all = Array.from({ length: 20 }, async (_, index) => {
      const { pieces } = await outputs.of(program('echo "$1"', String(index)));
      expect((await read(pieces)).toString()).to.equal(`${index}\n`);
    });
    await Promise.all(all);
  });

  it("ends the program that nobody reads from any more, and leaves nothing open", async () => {
    await read((await outputs.of(program("true"))).pieces);
    const before = await openSockets();
    const { program: child, pieces } = await outputs.of(program("exec yes"));
    const closed = once(child, "close");
    for await (const _ of pieces) break;
    expect((await closed)[0]).to.not.equal(0);
    await eventually(async () => (await openSockets()) <= before);
  });

  it("is nothing when the program could not be started", async () => {
    const start = (end: Socket): ChildProcess =>
      spawn("/no/such", [], { stdio: ["pipe", end] }).on("error", () => undefined);
    expect((await read((await outputs.of(start)).pieces)).length).to.equal(0);
    const failing = outputs.of(() => {
      throw new Error("not started");
    });
    expect(await failing.catch((error: unknown) => String(error))).to.match(/not started/);
  });

  it("fails, and does not wait for ever, when no more files may be opened", async () => {
    const script = `
      import { closeSync, openSync } from "node:fs";
      import { spawn } from "node:child_process";
      import { ProgramOutputs } from "${compiled("src/platform/program-output.ts")}";
      const outputs = new ProgramOutputs();
      const start = (end) => spawn("true", [], { stdio: ["ignore", end, "ignore"] }).on("error", () => {});
      for await (const _ of (await outputs.of(start)).pieces);
      for (let left = 0; left < 8; left += 1) {
        const all = [];
        try { for (;;) all.push(openSync("/dev/null")); } catch {}
        for (const each of all.splice(0, left)) closeSync(each);
        const said = await Promise.race([
          outputs.of(start).then(() => "opened", (error) => "failed"),
          new Promise((resolve) => setTimeout(resolve, 15000, "waits")),
        ]);
        for (const each of all) closeSync(each);
        console.log(said);
      }
      await outputs.close();
      process.exit();`;
    const node = `ulimit -n 128; exec "$0" --input-type=module -e "$1"`;
    const child = spawn("sh", ["-c", node, process.execPath, script]);
    const said = (await text(child.stdout)).trim().split("\n");
    expect(said).to.have.length(8).and.include("failed").and.not.include("waits");
  });

  it("does without a directory for temporary files whose name is too long for sockets", async () => {
    const { TMPDIR } = process.env;
    const long = path.join(parent, "x".repeat(90));
    await mkdir(long);
    const own = new ProgramOutputs();
    try {
      process.env["TMPDIR"] = long;
      for (let round = 0; round < 3; round += 1) {
        const { pieces } = await own.of(program("echo here"));
        expect((await read(pieces)).toString()).to.equal("here\n");
      }
      expect(await readdir(long)).to.deep.equal([]);
      expect(
        (await readdir(parent)).filter((name) => name.startsWith("ledgerforge")),
      ).to.deep.equal([]);
    } finally {
      if (TMPDIR === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = TMPDIR;
      await own.close();
    }
  });

  it("recreates a directory that was cleaned up, and leaves nothing behind", async () => {
    const own = new ProgramOutputs();
    // Other processes have theirs in the directory that all share.
    const { TMPDIR } = process.env;
    const alone = await mkdtemp(path.join(tmpdir(), "lf-out-"));
    try {
      process.env["TMPDIR"] = alone;
      await own.of(program("true"));
      const [mine = ""] = await readdir(alone);
      await rm(path.join(alone, mine), { recursive: true });

      const { pieces } = await own.of(program("echo found"));
      expect((await read(pieces)).toString()).to.equal("found\n");
      await own.close();
      expect(await readdir(alone)).to.deep.equal([]);
    } finally {
      if (TMPDIR === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = TMPDIR;
      await rm(alone, { recursive: true });
    }
  });
});
