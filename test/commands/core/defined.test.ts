import { expect } from "chai";
import { defined } from "../../../src/commands/core/defined.ts";

describe("defined", () => {
  it("leaves out what is undefined, and keeps null and what is empty", () => {
    const change = { title: undefined, description: null, topics: [], isPrivate: false, name: "" };
    const kept = { description: null, topics: [], isPrivate: false, name: "" };
    expect({ title: "before", ...defined(change) }).to.deep.equal({ title: "before", ...kept });
  });
});
