import { expect } from "chai";

import {
  type PackumentAnswer,
  type PackumentQuestion,
  parsePackument,
} from "../../../src/package/npm/packument.ts";
import { readPackument } from "../../../src/package/npm/packument-reader.ts";
import { turnsWhile } from "../../support/app/longest-turn.ts";

const base = "https://forge.example.org/npm";
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const version = (number: string, more: object = {}) => ({
  name: "pad",
  version: number,
  dist: { tarball: `https://far.example.org/x/pad-${number}.tgz`, shasum: "0", ...more },
});
const small = bytesOf({
  name: "pad",
  "dist-tags": { latest: "1.0.0" },
  versions: { "1.0.0": version("1.0.0"), "0.9.0": version("0.9.0") },
  readme: "text",
});
/** Some megabytes. */
const large = bytesOf({
  name: "pad",
  versions: Object.fromEntries(
    Array.from({ length: 5_000 }, (_, n) => [
      `1.0.${n}`,
      { ...version(`1.0.${n}`), text: "x".repeat(500) },
    ]),
  ),
});
const answerFor = (
  want: PackumentQuestion["want"],
  bytes: Uint8Array = small,
  name = "pad",
): PackumentQuestion => ({ bytes, name, want });
const jsonIn = (answer: PackumentAnswer | undefined): unknown =>
  answer?.kind === "json" ? JSON.parse(new TextDecoder().decode(answer.bytes)) : answer;

describe("a document of npm from another registry", () => {
  it("names tarballs at this service", () => {
    const document = jsonIn(parsePackument(answerFor({ kind: "document", base })));
    expect(JSON.stringify(document)).not.to.include("far.example.org");
    expect(document).to.deep.include({ name: "pad", readme: "text" });
    const one = { kind: "version", base, version: "latest" } as const;
    expect(jsonIn(parsePackument(answerFor(one)))).to.deep.equal(
      version("1.0.0", { tarball: `${base}/pad/-/pad-1.0.0.tgz` }),
    );
    for (const other of ["2.0.0", "__proto__", "toString"]) {
      expect(parsePackument(answerFor({ ...one, version: other }))).to.deep.equal({
        kind: "missing",
      });
    }
  });

  it("is refused when an address or a digest of it is longer than any", () => {
    const url = (length: number) => `https://far.example.org/${"x".repeat(length - 24)}`;
    const kindOf = (more: object) => {
      const versions = { "1.0.0": version("1.0.0", more) };
      return parsePackument(
        answerFor({ kind: "document", base }, bytesOf({ name: "pad", versions })),
      ).kind;
    };
    for (const [field, most] of [
      ["tarball", 4_096],
      ["integrity", 4_096],
      ["shasum", 255],
    ] as const) {
      const long = (length: number) => (field === "tarball" ? url(length) : "x".repeat(length));
      expect(kindOf({ [field]: long(most) }), field).to.equal("json");
      expect(kindOf({ [field]: long(most + 1) }), field).to.equal("malformed");
    }
  });

  it("is refused when it nests too deep to be written", () => {
    const deep = `{"name":"pad","more":${"[".repeat(60_000)}${"]".repeat(60_000)}}`;
    const question = answerFor({ kind: "document", base }, new TextEncoder().encode(deep));
    expect(parsePackument(question)).to.deep.equal({ kind: "malformed" });
  });

  it("says where a tarball is at the other registry", () => {
    const { dist } = version("0.9.0");
    expect(parsePackument(answerFor({ kind: "dist", file: "pad-0.9.0.tgz" }))).to.deep.equal({
      kind: "dist",
      dist: { ...dist, integrity: undefined },
    });
    const none = parsePackument(answerFor({ kind: "dist", file: "pad.tgz" }));
    expect(none).to.deep.equal({ kind: "missing" });
  });

  it("is refused when it is of another package, or no document", () => {
    const want = { kind: "document", base } as const;
    const bad = [bytesOf([]), bytesOf({ name: "pad", versions: { "1": {} } }), Buffer.from("{")];
    for (const bytes of bad) {
      expect(parsePackument(answerFor(want, bytes))).to.deep.equal({ kind: "malformed" });
    }
    expect(parsePackument(answerFor(want, small, "other"))).to.deep.equal({ kind: "malformed" });
  });

  it("that is large is read while other work goes on", async () => {
    const question = answerFor({ kind: "document", base }, large);
    const { turns, result: answer } = await turnsWhile(() => readPackument(question));
    expect(turns).to.be.greaterThan(10);
    expect(jsonIn(answer)).to.deep.equal(jsonIn(parsePackument(question)));
  });
});
