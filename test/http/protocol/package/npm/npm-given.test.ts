import { serialize } from "node:v8";
import { expect } from "chai";

import { type Given, GivenCache } from "../../../../../src/http/protocol/package/npm/given.ts";
import {
  type PackumentQuestion,
  parsePackument,
} from "../../../../../src/package/npm/packument.ts";

/** Longest texts that a document may have, of characters that take two bytes each. */
const dist = {
  tarball: `https://far.example.org/${"ж".repeat(4_000)}/pad-1.0.0.tgz`,
  integrity: `sha512-${"ж".repeat(4_000)}`,
  shasum: "ж".repeat(255),
};
const text = JSON.stringify({
  name: "pad",
  versions: { "1.0.0": { version: "1.0.0", dist, text: "ж".repeat(20_000) } },
});
function given(want: PackumentQuestion["want"]): Given {
  const bytes = new TextEncoder().encode(text);
  const answer = parsePackument({ bytes, name: "pad", want });
  if (answer.kind === "json" || answer.kind === "dist") return answer;
  return expect.fail(answer.kind);
}

describe("what is kept of documents of npm", () => {
  const bytesMax = 1024 ** 2;
  const answers: Readonly<Record<string, readonly [key: string, answer: Given]>> = {
    "an address and digests": ["key", given({ kind: "dist", file: "pad-1.0.0.tgz" })],
    "a document": ["key", given({ kind: "document", base: "https://forge.example.org" })],
    "an answer to a long question": [
      "ж".repeat(4_000),
      { kind: "dist", dist: { tarball: "https://far.example.org/pad-1.0.0.tgz" } },
    ],
  };
  for (const [what, [key, answer]] of Object.entries(answers)) {
    it(`is bounded by all that it holds, with ${what}`, () => {
      const cache = new GivenCache(bytesMax);
      const keys = Array.from({ length: 1_500 }, (_, at) => `${key} ${at}`);
      for (const each of keys) cache.set(each, answer);
      const held = keys.flatMap((each) => {
        const found = cache.get(each);
        return found === undefined ? [] : [serialize([each, found]).length];
      });
      const heldBytes = held.reduce((sum, bytes) => sum + bytes, 0);
      expect(held.length).to.be.within(1, keys.length - 1);
      expect(heldBytes).to.be.at.most(bytesMax);
      expect(cache.bytes).to.be.within(heldBytes, bytesMax);
    });
  }

  it("has no document that would take much of it", () => {
    const cache = new GivenCache(64 * bytesMax);
    cache.set("large", { kind: "json", bytes: new Uint8Array(300_000) });
    // A part of a larger buffer holds all of it.
    cache.set("part", { kind: "json", bytes: new Uint8Array(300_000).subarray(0, 10) });
    expect(cache.bytes).to.equal(0);
  });
});
