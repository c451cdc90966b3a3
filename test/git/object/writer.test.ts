import { expect } from "chai";

import { cleanMessage } from "../../../src/git/object/writer.ts";
import { expectLinear } from "../../support/app/growth.ts";

describe("a message as it is kept", () => {
  for (const [message, kept] of [
    ["One", "One\n"],
    ["\n\n  One  \r\n\r\nTwo\t\rThree\n\n\n", "  One\n\nTwo\nThree\n"],
    ["a\0b", "ab\n"],
  ] as const) {
    it(`of ${JSON.stringify(message)} is ${JSON.stringify(kept)}`, () => {
      expect(cleanMessage(message)).to.equal(kept);
    });
  }

  it("is made in one pass, whatever runs of space it is made of", () =>
    expectLinear(
      32_000,
      (length) => " ".repeat(length),
      (run) => expect(cleanMessage(`a${run}b${run}\n`)).to.equal(`a${run}b\n`),
    ));
});
