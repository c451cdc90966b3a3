import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { expect } from "chai";
import { fromBufferPromise } from "yauzl";

import { zipStream } from "../../../src/platform/zip/zip-stream.ts";
import { eventually } from "../../support/app/eventually.ts";

const modifiedAt = new Date("2026-03-01T12:00:00Z");
const MiB = 1024 ** 2;

function entry(path: string, content: string) {
  const bytes = Buffer.byteLength(content);
  return { path, bytes, modifiedAt, open: async () => Readable.from([Buffer.from(content)]) };
}

/** More than any buffer on the way takes in; counts what was read of it. */
function largeEntry(path: string) {
  const seen = { bytes: 0, content: undefined as Readable | undefined };
  const open = async () => {
    seen.content = new Readable({
      read() {
        seen.bytes += MiB;
        this.push(seen.bytes > 64 * MiB ? null : Buffer.alloc(MiB));
      },
    });
    return seen.content;
  };
  return { seen, entry: { path, bytes: 64 * MiB, modifiedAt, open } };
}

async function failureOf(body: Readable): Promise<Error> {
  try {
    await buffer(body);
  } catch (error) {
    return error as Error;
  }
  return expect.fail("the archive ended as if it were whole");
}

describe("a ZIP archive that is made while it is read", () => {
  it("holds every entry and has the size that was said before", async () => {
    const entries = [entry("a/one.txt", "one"), entry("a/empty", ""), entry("б/два", "два")];
    const { body, bytes } = await zipStream(entries);
    const whole = await buffer(body);
    expect(whole.length).to.equal(bytes);
    const archive = await fromBufferPromise(whole);
    const found: Record<string, string> = {};
    for await (const each of archive.eachEntry()) {
      found[each.fileName] = await text(await archive.openReadStreamPromise(each));
      expect(each.getLastModDate().toISOString()).to.equal(modifiedAt.toISOString());
    }
    expect(found).to.deep.equal({ "a/one.txt": "one", "a/empty": "", "б/два": "два" });
  });

  it("reads no more than its reader takes, opens one entry at a time and closes it", async () => {
    const [first, second] = [largeEntry("first"), largeEntry("second")];
    const { body } = await zipStream([first.entry, second.entry]);
    for await (const chunk of body) {
      expect(chunk).to.have.property("length");
      break;
    }
    await eventually(async () => expect(first.seen.content?.destroyed).to.equal(true));
    expect(first.seen.bytes).to.be.lessThan(8 * MiB);
    expect(second.seen.content).to.equal(undefined);
  });

  it("ends with an error when an entry is missing, breaks off or has another size", async () => {
    const missing = { ...entry("x", "x"), open: () => Promise.reject(new Error("is missing")) };
    const broken = async () =>
      Readable.from(
        (async function* () {
          yield Buffer.from("x");
          throw new Error("broke off");
        })(),
      );
    const cases = [
      [missing, "is missing"],
      [{ ...entry("x", "xx"), open: broken }, "broke off"],
      [{ ...entry("x", "xx"), bytes: 3 }, "unexpected number of bytes"],
    ] as const;
    for (const [bad, message] of cases) {
      const { body } = await zipStream([entry("good", "good"), bad]);
      expect((await failureOf(body)).message).to.include(message);
    }
  });
});
