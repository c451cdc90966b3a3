import { expect } from "chai";

import { maskedForms, maskPiece } from "../../../src/platform/job-log/mask.ts";
import { expectLinear } from "../../support/app/growth.ts";

describe("masking", () => {
  for (const [what, line] of [
    ["overlaps itself everywhere", (length: number) => "a".repeat(length)],
    ["nearly begins everywhere", (length: number) => `${"a".repeat(length / 2)}b`],
  ] as const) {
    it(`takes time in proportion to the log where a long value ${what}`, () =>
      expectLinear(
        64 * 1024,
        async (size) => {
          const length = size / 32;
          const log = Buffer.alloc(size, line(length));
          return [log, await maskedForms(["a".repeat(length)])] as const;
        },
        ([log, same]) => maskPiece(log, same),
      ));
  }

  it("takes time in proportion to the log where lines of base64 overlap themselves, and holds back few", async () => {
    const value = "a".repeat(600);
    const encoded = await maskedForms([value]);
    const line = `${Buffer.from(value).toString("base64").slice(0, 76)}\n`;
    await expectLinear(
      64 * 1024,
      (size) => Buffer.alloc(size, line),
      (log) => expect(maskPiece(log, encoded).tail.length).to.be.below(16_000),
    );
  });
});
