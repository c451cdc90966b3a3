import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { expect } from "chai";

import { unpackedBzip2 } from "../../../src/package/conda/bzip2.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { needsProgram } from "../../support/process/program.ts";

async function unpacked(packed: Buffer, chunkBytes = 65_536): Promise<Buffer> {
  async function* chunks() {
    for (let at = 0; at < packed.length; at += chunkBytes) {
      yield packed.subarray(at, at + chunkBytes);
    }
  }
  const parts: Buffer[] = [];
  for await (const part of unpackedBzip2(chunks())) parts.push(part);
  return Buffer.concat(parts);
}

const greeting = "hello world, hello";
/** What the program makes of the greeting. */
const packedGreeting = Buffer.from(
  "QlpoOTFBWSZTWR+mY28AAAMRgEAEBkSQgCAAMQZMQNDTEWy2CpAgOS8XckU4UJAfpmNv",
  "base64",
);
const isGreeting = async (packed: Buffer): Promise<boolean> => {
  try {
    return (await unpacked(packed)).toString() === greeting;
  } catch (error) {
    expect(error).to.be.instanceOf(Refusal);
    return false;
  }
};

describe("what bzip2 packed", () => {
  it("is unpacked in chunks of any length, and several streams as one", async () => {
    const twice = Buffer.concat([packedGreeting, packedGreeting]);
    for (const bytes of [1, 7, 65_536]) {
      expect((await unpacked(twice, bytes)).toString()).to.equal(greeting + greeting);
    }
  });

  it("is refused when it is cut, and when its text is damaged", async () => {
    for (let end = 0; end < packedGreeting.length; end += 1) {
      expect(await isGreeting(packedGreeting.subarray(0, end)), `${end}`).to.equal(false);
    }
    // Between the head and the mark at the end.
    for (let bit = 32; bit < (packedGreeting.length - 11) * 8; bit += 5) {
      const damaged = Buffer.from(packedGreeting);
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const text = await unpacked(damaged).catch((error: unknown) => error);
      if (text instanceof Refusal) continue;
      expect(String(text), `bit ${bit}`).to.equal(greeting);
    }
  });
});

describe("bzip2 of tiny blocks", () => {
  type Tables = Readonly<{ groups?: number; selectors?: number }>;

  /** Of `count` blocks that hold one zero byte each, and take 22 bytes with two tables of codes. */
  function tinyBlocks(count: number, { groups = 2, selectors = 1 }: Tables = {}): Buffer {
    const bits = (value: number, length: number) => value.toString(2).padStart(length, "0");
    const table = `${bits(2, 5)}000`;
    const symbols = bits(0, 2) + bits(2, 2);
    const head = bits(groups, 3) + bits(selectors, 15);
    const codes = head + "0".repeat(selectors) + table.repeat(groups) + symbols;
    const sum = bits(0xb1f7404b, 32);
    const block = bits(0x314159265359, 48) + sum + bits(0, 25) + bits(0x80008000, 32) + codes;
    const all = block.repeat(count) + bits(0x177245385090, 48) + bits(0, 32);
    const bytes = all.padEnd(Math.ceil(all.length / 8) * 8, "0").match(/.{8}/g) ?? [];
    return Buffer.concat([
      Buffer.from("BZh9"),
      Buffer.from(bytes.map((byte) => parseInt(byte, 2))),
    ]);
  }

  it("is refused with fewer than two tables of codes, more than six, or none in use", async () => {
    for (const groups of [2, 6]) {
      expect((await unpacked(tinyBlocks(1, { groups }))).equals(Buffer.alloc(1))).to.equal(true);
    }
    for (const tables of [{ groups: 1 }, { groups: 7 }, { selectors: 0 }]) {
      const failure = await unpacked(tinyBlocks(1, tables)).catch((error: unknown) => error);
      expect(failure, JSON.stringify(tables)).to.be.instanceOf(Refusal);
    }
  });

  it("is refused when they are more than a file has", async () => {
    expect((await unpacked(tinyBlocks(8))).equals(Buffer.alloc(8))).to.equal(true);
    const failure = await unpacked(tinyBlocks(2_001)).catch((error: unknown) => error);
    expect(String(failure)).to.match(/more than 2000 blocks/);
  });
});

describe("bzip2", () => {
  if (!needsProgram("bzip2")) return;

  it("packs what is unpacked to the same bytes, in blocks of all sizes", async () => {
    const runs = Array.from({ length: 300 }, (_, length) => Buffer.alloc(length, length % 7));
    const samples = {
      nothing: Buffer.alloc(0),
      random: randomBytes(250_000),
      runs: Buffer.concat(runs),
      zeros: Buffer.alloc(3_000_000),
      text: Buffer.from(Array.from({ length: 60_000 }, (_, line) => `line ${line}\n`).join("")),
    };
    for (const [name, content] of Object.entries(samples)) {
      for (const level of ["-1", "-9"]) {
        const packed = execFileSync("bzip2", [level, "-c"], { input: content });
        expect((await unpacked(packed)).equals(content), `${name} ${level}`).to.equal(true);
      }
    }
  });
});
