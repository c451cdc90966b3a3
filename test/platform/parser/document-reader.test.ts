import { expect } from "chai";

import { asCaller } from "../../../src/platform/caller.ts";
import { documentReader } from "../../../src/platform/parser/document-reader.ts";

type Question = Readonly<{ kind: "double"; number: number; bytes: Uint8Array }>;

const read = documentReader<Question, Readonly<{ doubled: number }>>({
  parse: () => ({ doubled: Number.NaN }),
  module: "../test/support/parser/hostile-task",
  atOnceBytesMax: 0,
  timeoutMs: 60_000,
  mebibytesMax: 256,
});
const double = (number: number) => read({ kind: "double", number, bytes: new Uint8Array(1) });

describe("a reader of documents", () => {
  it("takes those of another caller while two have as many as they may have", async () => {
    const all = ["anna", "bob"].flatMap((caller) =>
      Array.from({ length: 32 }, (_, number) => asCaller(caller, () => double(number))),
    );
    expect(await asCaller("carol", () => double(7))).to.include({ doubled: 14 });
    await Promise.all(all);
  }).timeout(20_000);
});
