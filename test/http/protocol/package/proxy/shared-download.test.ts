import { createHash } from "node:crypto";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";

import { SharedDownload } from "../../../../../src/http/protocol/package/proxy/shared-download.ts";
import { eventually } from "../../../../support/app/eventually.ts";

const bytesMax = 10 * 1024 ** 2;
const content = Buffer.alloc(500_000, "content");
const hex = createHash("sha256").update(content).digest("hex");
const promised = { algorithm: "sha256", hex } as const;
const ignored = () => undefined;

describe("a file that is read while it comes", () => {
  it("is sent before it is whole, but for its end", async () => {
    const source = new PassThrough();
    const download = new SharedDownload(ignored);
    const reader = download.read();
    const taken: Buffer[] = [];
    const filled = download.fill(source, { promised, bytesMax }, async (whole) => {
      taken.push(await buffer(whole));
    });
    source.write(content);
    let came = 0;
    for await (const piece of reader.iterator({ destroyOnReturn: false })) {
      came += (piece as Buffer).length;
      if (came >= content.length - 64 * 1024) break;
    }
    expect(came).to.equal(content.length - 64 * 1024);
    const late = download.read();
    source.end();
    expect((await buffer(late)).equals(content)).to.equal(true);
    expect(came + (await buffer(reader)).length).to.equal(content.length);
    await filled;
    expect(taken[0]?.equals(content)).to.equal(true);
  });

  it("is cut for its readers when it breaks off, is too large or is not what was promised", async () => {
    const wrong = { algorithm: "sha256", hex: "0".repeat(64) } as const;
    const whole = () => Readable.from([content]);
    const broken = () => {
      const source = new PassThrough();
      source.write(content);
      return source.destroy(new Error("The line broke."));
    };
    for (const [source, limits] of [
      [whole, { promised: wrong, bytesMax }],
      [whole, { promised, bytesMax: content.length - 1 }],
      [broken, { promised, bytesMax }],
    ] as const) {
      const download = new SharedDownload(ignored);
      const read = buffer(download.read()).catch(() => "cut");
      let isTaken = false;
      const filled = download.fill(source(), limits, async () => {
        isTaken = true;
      });
      expect(await filled.catch(() => "failed")).to.equal("failed");
      expect([await read, isTaken, download.isOver]).to.deep.equal(["cut", false, true]);
    }
  });

  it("is given up when its last reader leaves, not when the first does", async () => {
    const source = new PassThrough();
    const left: string[] = [];
    const download = new SharedDownload(() => {
      left.push("all");
      source.destroy();
    });
    const [first, second] = [download.read(), download.read()];
    const filled = download.fill(source, { promised, bytesMax }, async () => undefined);
    const closed = (reader: Readable) => new Promise((resolve) => reader.once("close", resolve));
    const firstLeft = closed(first);
    first.destroy();
    await firstLeft;
    expect(left).to.deep.equal([]);
    second.destroy();
    expect(await filled.catch(() => "failed")).to.equal("failed");
    expect(left).to.deep.equal(["all"]);
  });

  it("takes room until its last reader leaves", async () => {
    const room: number[] = [];
    let isRemoved = false;
    const download = new SharedDownload(ignored, () => {
      isRemoved = true;
    });
    const reader = download.read();
    const limits = { promised, bytesMax, reach: (bytes: number) => void room.push(bytes) };
    await download.fill(
      Readable.from([content, content.subarray(0, 0)]),
      limits,
      async () => undefined,
    );
    expect([isRemoved, room]).to.deep.equal([false, [content.length, content.length]]);
    const closed = new Promise((resolve) => reader.once("close", resolve));
    expect((await buffer(reader)).equals(content)).to.equal(true);
    await closed;
    await eventually(() => isRemoved);
  });

  it("is cut where there is no room for more of it", async () => {
    const full = (): void => {
      throw new Error("There is no room.");
    };
    let isRemoved = false;
    const download = new SharedDownload(ignored, () => {
      isRemoved = true;
    });
    const read = buffer(download.read()).catch(() => "cut");
    const limits = { promised, bytesMax, reach: full };
    const filled = download.fill(Readable.from([content]), limits, async () => undefined);
    expect(await filled.catch(() => "failed")).to.equal("failed");
    expect([await read, isRemoved]).to.deep.equal(["cut", true]);
  });
});
