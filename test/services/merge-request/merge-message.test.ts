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

  it("has a description without comments, whose words would close issues", async () => {
    const description = "Why\n\n<!-- Link the issue, for example: Closes #3 -->\n\n`Closes #4`";
    const subject = { row: { title: "Good", description } } as unknown as MessageSubject;
    expect(await filledMessage("%{title}\n\n%{description}", subject)).to.equal(
      "Good\n\nWhy\n\n`Closes #4`",
    );
  });
});
