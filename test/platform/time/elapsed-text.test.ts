import { expect } from "chai";

import { elapsedText } from "../../../src/platform/time/elapsed-text.ts";

const now = new Date("2026-11-22T12:00:00.000Z");

describe("elapsed time in words", () => {
  for (const [seconds, text] of [
    [-5, "just now"],
    [0, "just now"],
    [59, "just now"],
    [60, "1 minute ago"],
    [119, "1 minute ago"],
    [3_599, "59 minutes ago"],
    [3_600, "1 hour ago"],
    [86_399, "23 hours ago"],
    [2 * 86_400, "2 days ago"],
    [30 * 86_400, "1 month ago"],
    [364 * 86_400, "12 months ago"],
    [800 * 86_400, "2 years ago"],
  ] as const) {
    it(`is "${text}" after ${seconds} s`, () => {
      expect(elapsedText(new Date(now.getTime() - seconds * 1_000), now)).to.equal(text);
    });
  }
});
