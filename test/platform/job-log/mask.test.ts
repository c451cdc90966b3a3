import { expect } from "chai";

import {
  type MaskedForms,
  mask,
  maskedForms,
  maskPiece,
} from "../../../src/platform/job-log/mask.ts";
import { leastLongestTurnMs } from "../../support/app/longest-turn.ts";
import { randomNumbers } from "../../support/app/random.ts";

const secret = "correct horse battery";
const forms = await maskedForms([secret, "hunter2-and-more", "short"]);
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

  for (const before of ["", "x", "xy"]) {
    it(`finds a value in the alphabet of URLs behind ${JSON.stringify(before)}`, async () => {
      // Each of its three places in base64 has characters in which the alphabets differ.
      const value = "~~~???>>>~~~???>>>";
      const some = await maskedForms([value]);
      for (const behind of ["", "z", "\xff\xff"]) {
        const encoded = Buffer.from(`${before}${value}${behind}`, "latin1").toString("base64url");
        expect(encoded).to.match(/[-_]/);
        const [first, last] = [before, before + value].map(({ length }) => (length * 8) / 6);
        for (let size = 1; size <= encoded.length; size += 1) {
          const shown = inPieces(Buffer.from(`${encoded}\nnext`), size, some);
          const hidden = shown.slice(Math.ceil(first ?? 0), Math.ceil(last ?? 0));
          expect(hidden, `${encoded} in pieces of ${size}`).to.match(/^\[MASKED\]\*+$/);
        }
      }
    });
  }

  it("finds base64 in the alphabet of URLs that is broken into lines", async () => {
    const value = "~~~???>>>".repeat(12);
    const lines = Buffer.from(value).toString("base64url").replaceAll(/.{76}/g, "$&\n");
    expect(mask(Buffer.from(lines), await maskedForms([value])).toString()).to.match(
      /^[[\]A-Z*\n]+$/,
    );
  });

  it("hides the last character of base64 that has bits of a value", async () => {
    for (const value of [secret, `${secret}2`, `${secret}22`]) {
      const some = await maskedForms([value]);
      for (const before of ["", "x", "xy"]) {
        for (const behind of ["", "\n", "z", "zz", "\xff\xff"]) {
          const encoded = Buffer.from(`${before}${value}${behind}`, "latin1").toString("base64");
          const last = Math.ceil(((before.length + value.length) * 8) / 6);
          for (let size = 1; size <= encoded.length; size += 1) {
            const shown = inPieces(Buffer.from(`${encoded}\nnext`), size, some);
            expect(shown.slice(last - 8, last), `${encoded} in pieces of ${size}`).to.match(
              /^[\]*]+$/,
            );
            expect(shown.slice(last)).to.equal(`${encoded.slice(last)}\nnext`);
          }
        }
      }
    }
  });

  for (const [what, width, lineBreak] of [
    ["76 characters", 76, "\n"],
    ["64 characters", 64, "\r\n"],
  ] as const) {
    it(`finds base64 in lines of ${what}, at every size of the pieces`, async () => {
      const long = "a longer secret than fits into one line of base64: ".repeat(3);
      const some = await maskedForms([long, "hunter2-and-more"]);
      const befores = [
        "",
        "user:",
        "hunter2-and-more, 23456789 and some more",
        "QWERTZUI".repeat(7),
      ];
      for (const before of befores) {
        const encoded = Buffer.from(`${before}${long}!`).toString("base64");
        const lines = encoded.match(new RegExp(`.{1,${width}}`, "g")) ?? [];
        const text = Buffer.from(`A=${lines.join(lineBreak)}${lineBreak}done\n`);
        const expected = mask(text, some).toString();
        const rest = expected.replaceAll(/\[MASKED\]|[*\r\n]/g, "");
        expect(rest).to.have.length.below(before.length * 1.5 + 15);
        expect(expected.split(lineBreak)).to.have.length(lines.length + (width === 64 ? 1 : 2));
        for (let size = 1; size <= text.length; size += 1) {
          expect(inPieces(text, size, some), `pieces of ${size}`).to.equal(expected);
        }
      }
    });
  }

  it("finds base64 in lines of a value whose base64 is a value as well", async () => {
    const value = "a longer secret than fits into one line of base64".padEnd(81, "!");
    const encoded = Buffer.from(value).toString("base64");
    const text = encoded.replaceAll(/.{1,76}/g, "$&\n");
    for (const values of [
      [encoded, value],
      [value, encoded],
    ]) {
      expect(mask(Buffer.from(text), await maskedForms(values)).toString()).to.match(
        /^[[\]A-Z*\n]+$/,
      );
    }
  });

  it("finds a value that is cut anywhere, whatever the pieces are", () => {
    const text = Buffer.from(`before ${secret} between ${secret}${secret} after`);
    for (let size = 1; size <= text.length; size += 1) {
      expect(inPieces(text, size, forms), `pieces of ${size}`).to.equal(masked(text.toString()));
    }
  });

  it("masks a value that contains another masked value, at every size of the pieces", async () => {
    const inner = "hunter2-and-more";
    const nested = await maskedForms([
      inner,
      `${inner}: the rest of it`,
      `before ${inner}, and behind`,
    ]);
    const text = Buffer.from(
      `a ${inner}: the rest of it b ${inner} c before ${inner}, and behind d ${inner}: the`,
    );
    const expected = mask(text, nested).toString();
    expect(expected).not.to.match(/rest|before|behind/);
    for (let size = 1; size <= text.length; size += 1) {
      expect(inPieces(text, size, nested), `pieces of ${size}`).to.equal(expected);
    }
  });

  /** Which bytes of a text are those of some value: what masking has to hide, and no more. */
  function hidden(text: string, values: readonly string[]): readonly boolean[] {
    const bytes = [...text].map(() => false);
    for (const value of values) {
      for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
        bytes.fill(true, at, at + value.length);
      }
    }
    return bytes;
  }

  it("hides values that overlap each other or themselves whole, at every size of the pieces", async () => {
    const values = ["alpha-beta-gamma", "gamma-delta-eps", "xyxyxyxyxy", "beta-gamma-delta"];
    const overlapping = await maskedForms(values);
    const below = randomNumbers(7);
    const parts = ["alpha-", "beta-", "gamma", "-delta", "-eps", "xy", "x", " ", ...values];
    for (let times = 0; times < 25; times += 1) {
      const text = Array.from({ length: 12 }, () => parts[below(parts.length)]).join("");
      const isHidden = hidden(text, values);
      for (let size = 1; size <= text.length; size += 1 + below(5)) {
        const shown = inPieces(Buffer.from(text), size, overlapping);
        const left = [...text].map((char, at) => (isHidden[at] ? "" : char)).join("");
        expect([...shown].filter((_, at) => !isHidden[at]).join(""), text).to.equal(left);
        const kept = [...shown].filter((char, at) => isHidden[at] && !"[MASKED]*".includes(char));
        expect(kept, `${text} in pieces of ${size}`).to.deep.equal([]);
      }
    }
  });

  it("holds back no more than the values are long, however often one overlaps itself", async () => {
    const same = await maskedForms(["a".repeat(8_000)]);
    const { final, tail } = maskPiece(Buffer.alloc(1_000_000, "a"), same);
    expect(tail.length).to.be.below(16_000);
    expect(final.includes("aa")).to.equal(false);
  });

  it("leaves the event loop to others while values of a mebibyte are prepared", async () => {
    const values = Array.from({ length: 1_000 }, (_, n) => `${n}/${"?>~".repeat(1_300)}`);
    const prepare = async () => void (await maskedForms(values));
    expect(await leastLongestTurnMs(prepare)).to.be.below(60);
    expect((await maskedForms(["x".repeat(16_385)])).length).to.equal(0);
  });

  it("holds nothing back when there is nothing to mask", () => {
    const { final, tail } = maskPiece(Buffer.from("all"), []);
    expect([final.toString(), tail.length]).to.deep.equal(["all", 0]);
  });
});
