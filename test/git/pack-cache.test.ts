import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, readlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";

import { type CachedPack, PackCache } from "../../src/git/pack-cache.ts";
import { eventually } from "../support/app/eventually.ts";
import { temporaryDirectory } from "../support/git/git.ts";

const parent = await temporaryDirectory();
const directory = path.join(parent, "kept");
const content = randomBytes(1_500_000);
const source = path.join(parent, "source");
const packs: PackCache[] = [];
let started: ChildProcess[];

before(() => writeFile(source, content));
beforeEach(() => {
  started = [];
});
after(() => {
  for (const each of packs) each.close();
});

const open = (options: Partial<ConstructorParameters<typeof PackCache>[0]> = {}): PackCache => {
  const made = new PackCache({ directory, bytesMax: 40_000_000, ...options });
  packs.push(made);
  return made;
};

/** A program in git's place. */
function program(script: string): (descriptor: number) => ChildProcess {
  return (descriptor) => {
    const child = spawn("sh", ["-c", script, "sh", source], {
      stdio: ["pipe", descriptor, "inherit"],
    });
    started.push(child);
    return child;
  };
}

const copying = program('cat "$1"');
const read = (pack: CachedPack | undefined): Promise<Buffer> => {
  if (pack === undefined) throw new Error("there is no pack");
  return buffer(streamed(pack));
};

/** Every piece is valid until the next is requested. */
function streamed(pack: CachedPack): Readable {
  const copies = async function* () {
    for await (const piece of pack.pieces()) yield Buffer.from(piece);
  };
  return Readable.from(copies(), { objectMode: false, highWaterMark: 1 });
}

/** How many files below a directory are open here, whether or not they have a name. */
async function openBelow(at: string): Promise<number> {
  const names = await readdir("/proc/self/fd");
  const links = names.map((name) => readlink(path.join("/proc/self/fd", name)).catch(() => ""));
  return (await Promise.all(links)).filter((link) => link.startsWith(at)).length;
}

describe("a kept pack", () => {
  it("is read whole by everyone, from before it is made until long after", async () => {
    const kept = open();
    // The program writes half of it, and the rest after the signal.
    const first = kept.make("a", 10, program('head -c 700000 "$1"; read go; tail -c +700001 "$1"'));
    const early = Array.from({ length: 5 }, () => read(kept.find("a")));
    await eventually(() => started.length === 1);
    const stream = streamed(first!);
    await once(stream, "readable");
    expect(first?.bytes(), "its size is not known yet").to.equal(undefined);
    started[0]?.stdin?.write("go\n");

    expect((await buffer(stream)).equals(content)).to.equal(true);
    for (const each of await Promise.all(early)) expect(each.equals(content)).to.equal(true);
    const late = kept.find("a");
    expect(late?.bytes()).to.equal(content.length);
    expect((await read(late)).equals(content)).to.equal(true);
    expect(started).to.have.length(1);
  });

  it("has no name: nothing is left of it when the process ends", async () => {
    const kept = open();
    await read(kept.make("a", 10, copying));
    expect(await readdir(directory)).to.deep.equal([]);
    expect(await openBelow(directory)).to.be.greaterThan(0);
  });

  it("is dropped when no client has requested it for a while, but not while one reads it", async () => {
    const kept = open({ ttlMs: 100, directory: path.join(directory, "short") });
    let [key, found]: [string, CachedPack | undefined] = ["", undefined];
    // On a busy machine one may be dropped before it is requested again.
    for (let turn = 0; found === undefined && turn < 50; turn += 1) {
      key = `a-${turn}`;
      await read(kept.make(key, 10, copying));
      found = kept.find(key);
    }
    const reading = streamed(found!);
    await once(reading, "readable");
    // There is room for this only without the other.
    await eventually(() => kept.make("b", 39_500_000, copying) !== undefined);
    expect(kept.find(key)).to.equal(undefined);
    expect((await buffer(reading)).equals(content)).to.equal(true);
    await eventually(async () => (await openBelow(path.join(directory, "short"))) === 0);
  });

  it("makes room for others, the least recently used first, never one that is being read", async () => {
    const kept = open({ bytesMax: 4 * content.length });
    for (const key of ["a", "b", "c", "d"]) await read(kept.make(key, content.length, copying));
    const reading = streamed(kept.find("a")!);
    kept.find("b");
    await read(kept.make("e", content.length, copying));

    const left = ["a", "b", "c", "d", "e"].filter((key) => kept.find(key) !== undefined);
    expect(left).to.deep.equal(["a", "b", "d", "e"]);
    expect((await buffer(reading)).equals(content)).to.equal(true);
  });

  it("is not made when there is no room for it, counting those on their way", async () => {
    const kept = open({ bytesMax: 1_000 });
    const waiting = kept.make("a", 900, program("read go"));
    expect(kept.make("b", 200, copying)).to.equal(undefined);
    expect(kept.make("b", 100, copying)).to.not.equal(undefined);
    await eventually(() => started.length === 2);
    for (const child of started) child.stdin?.end();
    await waiting?.end;
  });

  it("may take a quarter of the space, and of a disk that has much left", async () => {
    const kept = open({ bytesMax: 1_000 });
    expect(await kept.takes(250)).to.equal(true);
    expect(await kept.takes(251)).to.equal(false);
    expect(await open({ bytesMax: 2 ** 60 }).takes(2 ** 55)).to.equal(false);
    expect(await open({ bytesMax: 0 }).takes(1)).to.equal(false);
    expect(await open({ bytesMax: 0 }).takes(0), "of what is in no pack").to.equal(false);
  });

  it("is delivered up to where it failed, and is not kept", async () => {
    const kept = open();
    const pack = kept.make("a", 10, program("printf 'ERR no'; exit 128"));
    expect((await read(pack)).toString()).to.equal("ERR no");
    expect(kept.find("a")).to.equal(undefined);
    expect((await read(kept.make("a", 10, copying))).equals(content)).to.equal(true);
  });

  it("ends with an error for its readers when it cannot be begun", async () => {
    const kept = open();
    const pack = kept.make("a", 10, () => {
      throw new Error("no such program");
    });
    const failure = await read(pack).catch((error: Error) => error.message);
    expect(failure).to.equal("no such program");
    expect(kept.find("a")).to.equal(undefined);
  });

  it("leaves nothing behind that goes on watching a program that could not be started", async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const kept = open();
    // The runner of tests has set its own by then.
    await new Promise(setImmediate);
    const before = timers();
    const pack = kept.make("a", 10, () => spawn("/nowhere/git", [], { stdio: "ignore" }));
    await expect(pack!.end).to.be.rejectedWith("ENOENT");
    expect(timers()).to.be.at.most(before);
    expect(kept.find("a")).to.equal(undefined);
  });

  it("is given up when it becomes larger than was thought", async () => {
    const kept = open({ bytesMax: 400_000 });
    const pack = kept.make("a", 10, program('cat "$1"; exec sleep 60'));
    await pack?.end;
    expect(started[0]?.signalCode).to.equal("SIGTERM");
    expect(kept.find("a")).to.equal(undefined);
  });

  it("ends with the rest, and the program that makes it", async () => {
    const kept = open();
    const pack = kept.make("a", 10, program("exec sleep 60"));
    await eventually(() => started.length === 1);
    kept.close();
    await pack?.end;
    expect(started[0]?.signalCode).to.equal("SIGTERM");
    expect(kept.find("a")).to.equal(undefined);
  });

  it("is made when the same was requested before, not too long ago", async () => {
    const kept = open({ ttlMs: 300 });
    const known = ["a", "a", "b"].map((key) => kept.requestedBefore(key));
    expect(known).to.deep.equal([false, true, false]);
    await delay(400);
    expect(kept.requestedBefore("a")).to.equal(false);
  });
});
