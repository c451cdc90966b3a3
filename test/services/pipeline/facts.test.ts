import { expect } from "chai";

import { fileBytesMax } from "../../../src/pipeline-file/document.ts";
import { readFile } from "../../../src/services/pipeline/facts.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);

describe("a file that a pipeline reads of its commit", () => {
  it("is its text up to the limit, and the limit for one that is larger", async () => {
    const files = {
      "fits.yml": "a".repeat(fileBytesMax),
      "large.yml": "a".repeat(fileBytesMax + 1),
    };
    let commitId = "";
    for (const [path, content] of Object.entries(files))
      commitId = await at.commit({ [path]: content });
    const repository = await app.deps.git.find(search.id);
    const read = (path: string, bytesMax?: number) =>
      readFile(repository!, commitId, path, bytesMax);
    expect(await read("fits.yml")).to.equal(files["fits.yml"]);
    expect(await read("large.yml")).to.deep.equal({ bytesMax: fileBytesMax });
    expect(await read("large.yml", fileBytesMax + 1)).to.equal(files["large.yml"]);
    expect(await read("absent.yml")).to.equal(undefined);
  });
});
