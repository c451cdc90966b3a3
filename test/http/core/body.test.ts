import { expect } from "chai";

import { withoutPluses } from "../../../src/http/core/body.ts";

describe("a form", () => {
  it("is parsed without pluses, which are slow, and means the same", () => {
    const form = Buffer.from("a=b+c%2Bd&e+f=%20+");
    const spaced = withoutPluses(form).toString();
    expect(spaced).not.to.contain("+");
    const fields = [...new URLSearchParams(spaced)];
    expect(fields).to.deep.equal([...new URLSearchParams(form.toString())]);
    expect(fields).to.deep.equal([
      ["a", "b c+d"],
      ["e f", "  "],
    ]);
    expect(form.toString(), "what was sent is kept").to.contain("+");
  });
});
