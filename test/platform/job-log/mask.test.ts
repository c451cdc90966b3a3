import { expect } from "chai";

import {
  type MaskedForms,
  mask,
  maskedForms,
  maskPiece,
} from "../../../src/platform/job-log/mask.ts";

const secret = "correct horse battery";
const forms = maskedForms([secret, "hunter2-and-more", "short"]);
const masked = (text: string) => mask(Buffer.from(text), forms).toString();

/** The log that becomes of a text that comes in pieces of so many bytes. */
function inPieces(text: Buffer, size: number, some: MaskedForms): string {
  let tail: Buffer = Buffer.alloc(0);
  const finals: Buffer[] = [];
  for (let from = 0; from < text.length; from += size) {
    const piece = maskPiece(Buffer.concat([tail, text.subarray(from, from + size)]), some);
    finals.push(piece.final);
    tail = piece.tail;
  }
  return Buffer.concat([...finals, mask(tail, some)]).toString();
}

describe("masking", () => {
  it("replaces values by marks of the same length", () => {
    const text = `a ${secret} b hunter2-and-more c`;
    expect(masked(text)).to.equal("a [MASKED]************* b [MASKED]******** c");
    expect(masked(text)).to.have.length(text.length);
  });

  it("leaves values under 8 bytes, and all else, as it is", () => {
    expect(masked("short, and correct horse batter")).to.equal("short, and correct horse batter");
  });

  for (const before of ["", "x", "xy", "user:"]) {
    it(`finds base64 of a value behind ${JSON.stringify(before)}`, () => {
      const encoded = Buffer.from(`${before}${secret}:z`).toString("base64");
      const shown = masked(encoded);
      expect(shown).to.include("[MASKED]").and.have.length(encoded.length);
      expect(Buffer.from(shown.replaceAll(/[[\]*]/g, ""), "base64").toString()).not.to.include(
        secret.slice(4, 12),
      );
    });
  }

  it("finds a value that is cut anywhere, whatever the pieces are", () => {
    const text = Buffer.from(`before ${secret} between ${secret}${secret} after`);
    for (let size = 1; size <= text.length; size += 1) {
      expect(inPieces(text, size, forms), `pieces of ${size}`).to.equal(masked(text.toString()));
    }
  });

  it("masks a value that contains another masked value, at every size of the pieces", () => {
    const inner = "hunter2-and-more";
    const nested = maskedForms([inner, `${inner}: the rest of it`, `before ${inner}, and behind`]);
    const text = Buffer.from(
      `a ${inner}: the rest of it b ${inner} c before ${inner}, and behind d ${inner}: the`,
    );
    const expected = mask(text, nested).toString();
    expect(expected).not.to.match(/rest|before|behind/);
    for (let size = 1; size <= text.length; size += 1) {
      expect(inPieces(text, size, nested), `pieces of ${size}`).to.equal(expected);
    }
  });

  it("holds nothing back when there is nothing to mask", () => {
    const { final, tail } = maskPiece(Buffer.from("all"), []);
    expect([final.toString(), tail.length]).to.deep.equal(["all", 0]);
  });
});
