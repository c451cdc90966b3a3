import { expect } from "chai";

import { wrongExamples } from "../../../support/access/openapi.ts";

describe("the OpenAPI document", () => {
  it("gives examples of all operations that fit their schemas", () => {
    expect(wrongExamples("whole")).to.deep.equal([]);
  });
});
