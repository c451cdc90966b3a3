import { expect } from "chai";

import { archivePaths } from "../../../../src/http/api/agent/artifact-archive.ts";

type Named = Parameters<typeof archivePaths>[0][number];

const named = (job_name: string, file_name: string, job = job_name): Named => ({
  job_id: job as Named["job_id"],
  job_name,
  file_name,
});

describe("the paths of an archive of artifacts", () => {
  it("are the names of job and file", () => {
    const artifacts = [named("build", "artifacts.zip"), named("build", "junit.xml.gz")];
    expect(archivePaths(artifacts)).to.deep.equal(["build/artifacts.zip", "build/junit.xml.gz"]);
  });

  it("lead nowhere else when they are unpacked", () => {
    const names = ["..", "../../etc", "/etc", "C:\\x", "test 1/2", "a\u0000b", "end. ", "привет"];
    const paths = archivePaths(names.map((name) => named(name, name.replaceAll("/", "\\"))));
    for (const path of paths)
      expect(path).to.match(/^[^/\\:\0]*[^/\\:\0. ]\/[^/\\:\0]*[^/\\:\0. ]$/);
    expect(paths).to.include("test 1-2/test 1-2").and.to.include("привет/привет");
  });

  it("differ, whatever the case of letters", () => {
    const artifacts = [
      ...[named("a/b", "x"), named("a-b", "x"), named("A-B", "x"), named("a-b-2", "x")],
      ...[named("one", "out.zip"), named("one", "out.zip"), named("one", "OUT.zip")],
    ];
    const paths = archivePaths(artifacts);
    expect(new Set(paths.map((path) => path.toLowerCase())).size).to.equal(artifacts.length);
    expect(paths.slice(0, 3)).to.deep.equal(["a-b/x", "a-b-2/x", "A-B-3/x"]);
    expect(paths.slice(4)).to.deep.equal(["one/out.zip", "one/out.zip-2", "one/OUT.zip-3"]);
  });
});
