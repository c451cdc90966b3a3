import { readFile } from "node:fs/promises";
import { expect } from "chai";

import { openApiFile } from "../../../../src/http/api/openapi/openapi.ts";
import { routes } from "../../../../src/http/routes.ts";

describe("docs/openapi.json", () => {
  it("is what the declarations say; `npm run openapi` writes it again", async () => {
    const kept = await readFile("docs/openapi.json", "utf8");
    // Compared as a whole: a difference of thousands of lines would say nothing more.
    expect(kept === openApiFile(routes), "run npm run openapi and commit the file").to.equal(true);
  });
});
