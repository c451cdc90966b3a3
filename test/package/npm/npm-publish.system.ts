import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";

import { readPublication } from "../../../src/package/npm/publish.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { eventually } from "../../support/app/eventually.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const wanted = ["2.0.0", "3.0.0", ...Array.from({ length: 200 }, (_, n) => `1.0.${n}`)];
const readWanted = (body: Readable) => readPublication(body, async () => wanted);

/** Reads a body that comes in pieces of so many bytes. */
async function read(body: string | Buffer, pieceBytes = 65_536) {
  const bytes = Buffer.from(body);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  const { tarball, document } = readWanted(Readable.from(pieces));
  const [data] = await Promise.all([text(tarball).catch(() => "refused"), document.catch(() => 0)]);
  return { tarball: data, document: await document };
}

const refusalOf = async (body: string) => {
  const error: unknown = await read(body).catch((thrown: unknown) => thrown);
  return error instanceof Refusal ? error.kind : error;
};

const publication = {
  _id: "tool",
  description: 'with "quotes", a \\ and {braces',
  "dist-tags": { latest: "1.0.0", 'odd"': "2.0.0" },
  versions: {
    "1.0.0": { name: "tool", nested: { deprecated: "not this", list: [{}, ["}"]] }, n: 1.5 },
    "2.0.0": { deprecated: 'Use "3.0.0" – é\n', readme: "}}" },
    "3.0.0": { deprecated: false },
  },
  access: null,
  list: [1, { versions: { "9.0.0": {} } }],
  _attachments: {
    "notes.txt": { data: "bm8=" },
    "tool.tgz": { content_type: "x", data: Buffer.from("tarball").toString("base64"), length: 7 },
  },
};

describe("what npm sends", () => {
  it("is read as tarball, tags, versions and deprecations, wherever it is cut into pieces", async () => {
    const body = JSON.stringify(publication, null, 1);
    for (const pieceBytes of [1, 2, 3, 7, 64, 65_536]) {
      const { tarball, document } = await read(body, pieceBytes);
      expect(tarball).to.equal("tarball");
      expect(document?.["dist-tags"]).to.deep.equal(publication["dist-tags"]);
      expect(document?.versions).to.deep.equal({
        "1.0.0": null,
        "2.0.0": 'Use "3.0.0" – é\n',
        "3.0.0": null,
      });
    }
  });

  it("is refused where it is no JSON, and distinguished from a document without versions", async () => {
    const body = JSON.stringify(publication);
    const kinds = [body.slice(0, -1), `${body}}`, body.replace('"dist-tags":', ""), "", "{"];
    for (const broken of kinds) expect(await refusalOf(broken), broken).to.equal("bad_request");
    for (const other of ['{"name":"tool"}', '{"versions":[1]}', "[1]"]) {
      expect((await read(other)).document, other).to.equal(undefined);
    }
  });

  it("takes a document of many megabytes and little memory, and is bounded", async () => {
    const readme = "x".repeat(20_000);
    const versions = Array.from({ length: 200 }, (_, n) => [
      `1.0.${n}`,
      { readme, deprecated: "" },
    ]);
    const { document } = await read(JSON.stringify({ versions: Object.fromEntries(versions) }));
    expect(JSON.stringify(document)).to.have.length.below(10_000);
    expect(Object.keys(document?.versions ?? {})).to.have.length(200);
    const text = "x".repeat(1024 ** 2);
    const tags = `{"versions":{},"dist-tags":{"a":"${text}"}}`;
    expect(await refusalOf(tags)).to.equal("too_large");
    const many = Array.from({ length: 400_000 }, (_, n) => `"${n}":{}`).join(",");
    expect(await refusalOf(`{"versions":{${many}}}`)).to.equal("too_large");
    expect(await refusalOf(`{"versions":{},"a":"${text.repeat(64)}"}`)).to.equal("too_large");
  });

  it("is read of wanted versions alone", async () => {
    const many = Array.from({ length: 250_000 }, (_, n) => `"${n}.0.0":{}`).join(",");
    const { document } = await read(`{"versions":{${many}}}`);
    expect(Object.keys(document?.versions ?? {})).to.have.members(["1.0.0", "2.0.0", "3.0.0"]);
  });

  it("does not stay in memory with the tarball", async () => {
    const memory = (): number => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    async function* body() {
      yield Buffer.from('{"_attachments":{"tool.tgz":{"data":"');
      const before = memory();
      for (let piece = 0; piece < 1_000; piece += 1) yield Buffer.alloc(64 * 1024, "A");
      // What is collected is given back by another thread, a little later.
      await eventually(() => memory() - before < 8 * 1024 ** 2, 5_000);
      yield Buffer.from('"}},"versions":{}}');
    }
    const { tarball, document } = readWanted(Readable.from(body()));
    await finished(tarball.resume());
    expect(await document).not.to.equal(undefined);
  });
});
