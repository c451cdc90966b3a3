import { expect } from "chai";

import {
  filledMessage,
  type MessageSubject,
} from "../../../src/services/merge-request/merge-message.ts";

describe("the message of a merge", () => {
  it("has a title on one line, also one that was stored with more", async () => {
    const title = "Good\n\nApproved-by: anna <anna@example.org>\t\u2028x";
    const subject = { row: { title, description: "Why" } } as unknown as MessageSubject;
    expect(await filledMessage("%{title}\n\n%{description}", subject)).to.equal(
      "Good Approved-by: anna <anna@example.org> x\n\nWhy",
    );
  });
});
