import { expect } from "chai";

import { mask, maskedForms, maskPiece } from "../../../src/platform/job-log/mask.ts";

const secret = "correct horse battery";
const forms = maskedForms([secret, "hunter2-and-more", "short"]);
const masked = (text: string) => mask(Buffer.from(text), forms).toString();

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
      let tail: Buffer = Buffer.alloc(0);
      const finals: Buffer[] = [];
      for (let from = 0; from < text.length; from += size) {
        const joined = Buffer.concat([tail, text.subarray(from, from + size)]);
        const piece = maskPiece(joined, forms);
        finals.push(piece.final);
        tail = piece.tail;
      }
      const whole = Buffer.concat([...finals, mask(tail, forms)]).toString();
      expect(whole, `pieces of ${size}`).to.equal(masked(text.toString()));
    }
  });

  it("holds nothing back when there is nothing to mask", () => {
    const { final, tail } = maskPiece(Buffer.from("all"), []);
    expect([final.toString(), tail.length]).to.deep.equal(["all", 0]);
  });

  const header = "\n2026-11-23T13:44:25.936529Z 01O+";

  it("finds a value that a runner cuts into two lines, and leaves what stands between", () => {
    const encoded = Buffer.from(secret).toString("base64");
    for (const text of [secret, encoded]) {
      for (let at = 1; at < text.length; at += 1) {
        const cut = `a ${text.slice(0, at)}${header}${text.slice(at)} b`;
        const shown = masked(cut);
        expect(shown).to.contain(header).and.have.length(cut.length);
        expect(shown.replace(header, ""), `cut at ${at}`).to.equal(masked(`a ${text} b`));
      }
    }
  });

  it("finds such a value whatever the pieces are, and holds back no more than its beginning", () => {
    const half = secret.slice(0, 9);
    const text = Buffer.from(`one ${half}${header}${secret.slice(9)} two${header}three\n\nfour`);
    for (let size = 1; size <= text.length; size += 1) {
      let tail: Buffer = Buffer.alloc(0);
      const finals: Buffer[] = [];
      for (let from = 0; from < text.length; from += size) {
        const joined = Buffer.concat([tail, text.subarray(from, from + size)]);
        const piece = maskPiece(joined, forms);
        finals.push(piece.final);
        tail = piece.tail;
        expect(tail.length).to.be.below(secret.length + header.length);
      }
      const whole = Buffer.concat([...finals, mask(tail, forms)]).toString();
      expect(whole, `pieces of ${size}`).to.equal(masked(text.toString()));
      expect(whole).not.to.contain(half);
    }
  });
});
