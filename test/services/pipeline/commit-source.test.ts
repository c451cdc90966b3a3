import { expect } from "chai";

import { commitSource } from "../../../src/services/pipeline/commit-source.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);

describe("what the variables of a pipeline say of its commit", () => {
  it("is the pipeline file that it has, for which its root is read once", async () => {
    const commits = [
      await at.commit({ "a.txt": "a" }),
      await at.commit({ "gitflic-ci.yaml": "a: {script: x}" }, "Add [skip ci]"),
      await at.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]"),
    ];
    const repository = await app.deps.git.find(search.id);
    const { objects } = repository!;
    const read = objects.tree.bind(objects);
    let reads = 0;
    Object.assign(objects, {
      tree: (id: string) => {
        reads += 1;
        return read(id);
      },
    });
    for (let times = 0; times < 2; times += 1) {
      const paths: string[] = [];
      for (const commitId of commits) {
        const origin = { commitId, ref: "main", isTag: false } as never;
        paths.push((await commitSource(repository, origin)).configPath);
      }
      expect(paths).to.deep.equal([".forge-ci.yaml", "gitflic-ci.yaml", ".forge-ci.yaml"]);
    }
    expect(reads).to.equal(commits.length);
  });
});
