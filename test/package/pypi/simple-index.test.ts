import { expect } from "chai";
import {
  parseSimpleIndex,
  type SimpleIndexQuestion,
} from "../../../src/package/pypi/simple-index.ts";
import { readSimpleIndex } from "../../../src/package/pypi/simple-index-reader.ts";
import { turnsWhile } from "../../support/app/longest-turn.ts";

const base = "https://forge.example.org/py";
const url = "https://far.example.org/simple/tool/";
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const file = (n: number) => ({
  filename: `tool-1.0.${n}.tar.gz`,
  url: `../../files/tool-1.0.${n}.tar.gz`,
  hashes: { sha256: String(n).padStart(64, "0") },
});
const listOf = (files: number) =>
  bytesOf({ files: Array.from({ length: files }, (_, n) => file(n)) });
const list = (form: "html" | "json") => ({ kind: "list", form, name: "tool", base }) as const;
const answerFor = (
  bytes: Uint8Array,
  want: SimpleIndexQuestion["want"] = list("json"),
): SimpleIndexQuestion => ({ bytes, isJson: true, url, want });

describe("a list of Python files from another registry", () => {
  it("names files at this service, in both forms", () => {
    for (const form of ["html", "json"] as const) {
      const answer = parseSimpleIndex(answerFor(listOf(2), list(form)));
      const text = answer.kind === "list" ? new TextDecoder().decode(answer.bytes) : "";
      expect(text).to.include(`${base}/files/tool/-/tool-1.0.1.tar.gz`).and.not.include("far.");
    }
    const found = parseSimpleIndex(
      answerFor(listOf(2), { kind: "file", file: "tool-1.0.1.tar.gz" }),
    );
    const at = "https://far.example.org/files/tool-1.0.1.tar.gz";
    expect(found).to.deep.equal({ kind: "file", url: at, hashes: file(1).hashes });
    const other = { kind: "file", file: "tool-9.tar.gz" } as const;
    expect(parseSimpleIndex(answerFor(listOf(2), other))).to.deep.equal({ kind: "missing" });
    expect(parseSimpleIndex(answerFor(bytesOf([])))).to.deep.equal({ kind: "malformed" });
  });

  it("loses files whose names cannot stand in an address, in both forms", () => {
    const named = (filename: string) => ({ ...file(1), filename });
    const odd = bytesOf({ files: [named("tool-\ud800.tar.gz"), file(2)] });
    const html = new TextEncoder().encode(
      '<a href="x">tool-&#xd800;.tar.gz</a><a href="y">tool-1.0.2.tar.gz</a>',
    );
    for (const question of [answerFor(odd), { ...answerFor(html), isJson: false }]) {
      const answer = parseSimpleIndex(question);
      if (answer.kind !== "list") throw new Error(answer.kind);
      const { files } = JSON.parse(new TextDecoder().decode(answer.bytes));
      expect(files.map((each: { filename: string }) => each.filename)).to.deep.equal([
        "tool-1.0.2.tar.gz",
      ]);
    }
  });

  it("is refused with over 50,000 files, in both forms", () => {
    const html = (links: number) => new TextEncoder().encode("<a href=x>".repeat(links));
    const kinds = [50_000, 50_001].flatMap((count) => [
      parseSimpleIndex(answerFor(bytesOf({ files: Array(count).fill(0) }))).kind,
      parseSimpleIndex({ ...answerFor(html(count)), isJson: false }).kind,
    ]);
    expect(kinds).to.deep.equal(["list", "list", "malformed", "malformed"]);
  });

  it("that is large is read while other work goes on", async () => {
    const large = answerFor(listOf(20_000));
    const { turns, result: there } = await turnsWhile(() => readSimpleIndex(large));
    expect(turns).to.be.greaterThan(10);
    const here = parseSimpleIndex(large);
    if (here.kind !== "list" || there?.kind !== "list") throw new Error("a list was asked for");
    expect(Buffer.compare(here.bytes, there.bytes)).to.equal(0);
  });
});
