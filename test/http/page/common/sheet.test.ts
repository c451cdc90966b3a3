import { expect } from "chai";

import { failureOf, sheetNotice } from "../../../../src/http/page/common/sheet.ts";
import { type FieldError, Refusal } from "../../../../src/platform/refusal.ts";

const visit = { here: "/project/anna/search/branch/new", requestId: "1f0c8d5e" };

function noticeOf(errors: readonly FieldError[]): string {
  const refusal = new Refusal("unprocessable", "branch.exists", "It exists.", { errors });
  const failure = failureOf(refusal, visit);
  const markup = sheetNotice({ typed: {}, failure }, ["name"])?.markup ?? "";
  return markup.replaceAll(/<[^>]+>/g, "");
}

describe("the notice above a form", () => {
  it("is the message of a refusal that is about no field", () => {
    expect(noticeOf([])).to.equal("It exists.");
  });

  it("leads to the fields of a refusal that names some", () => {
    const wrong = { code: "branch.exists", message: "It exists." };
    expect(noticeOf([{ field: "name", ...wrong }])).to.equal(
      "Nothing was saved. Look at the fields below.",
    );
    expect(noticeOf([{ field: "origin", ...wrong }])).to.contain("origin: It exists.");
  });
});
