import { expect } from "chai";
import { file, givenTriggers, ruled } from "../../support/pipeline/triggers.ts";

const { app, givenProject, carriedOut, given, messageOf } = await givenTriggers();

const bob = await app.givenUser("bob");

describe("a pipeline whose file starts itself", () => {
  it("ends three levels below", async () => {
    let pipelineId = await given();
    for (let level = 1; level <= 3; level += 1) {
      const { child } = await carriedOut(pipelineId);
      expect(child, `level ${level}`).to.be.a("string");
      pipelineId = child;
    }
    const message = "Pipelines start others at most 3 levels deep.";
    expect(await carriedOut(pipelineId)).to.deep.equal({ status: "FAILED", child: null, message });
  });
});

describe("a job that starts nothing", () => {
  const start = (path: string, branch?: string) => messageOf({ project: path, branch });

  const works = "x: {script: x}";

  it("says what is wrong with a public project", async () => {
    const theirs = await givenProject({ [file]: works }, { owner: bob, private: false });
    expect(await start(theirs.path)).to.contain("may not start pipelines on that branch or tag");
    expect(await start(theirs.path, "gone")).to.equal("The project has no such branch or tag.");
    const empty = await givenProject({ "a.txt": "a" }, { private: false });
    expect(await start(empty.path)).to.contain("no pipeline file");
    const none = await givenProject({ [file]: ruled }, { private: false });
    expect(await start(none.path)).to.equal("The rules of the file leave no job.");
    const wrong = await givenProject({ [file]: "x: []" }, { private: false });
    expect(await start(wrong.path)).to.equal(
      "Pipeline #1 of the project has mistakes in its file.",
    );
  });

  it("says the same of every private project as of one that does not exist", async () => {
    const missing = await start("bob/missing");
    expect(missing).to.contain("does not exist").and.contain("may not start");
    const open = await givenProject({ [file]: works }, { private: false });
    for (const path of ["$NONE", "x", "/", `${open.path}/more`, `/${open.path}`]) {
      expect(await start(path), path).to.equal(missing);
    }
    const theirs = await givenProject({ [file]: works }, { owner: bob, private: true });
    expect(await start(theirs.path)).to.equal(missing);
    expect(await start(theirs.path, "gone")).to.equal(missing);
    for (const yaml of [ruled, "x: []"]) {
      const own = await givenProject({ [file]: yaml }, { private: true });
      expect(await start(own.path), yaml).to.equal(missing);
      expect(await start(own.path, "gone"), yaml).to.equal(missing);
    }
  });

  it("states what is too large to be handed on", async () => {
    const variables = (name: string) =>
      Array.from({ length: 8 }, (_, n) => ({ key: `${name}${n}`, value: "x".repeat(50_000) }));
    const own = Object.fromEntries(variables("OWN").map(({ key, value }) => [key, value]));
    const trigger = { include: "child.yml", forward: { pipeline_variables: true } };
    const yaml = JSON.stringify({ a: { trigger, variables: own } });
    const ci = await givenProject({ [file]: yaml, "child.yml": works });
    const { pipeline_uuid: pipelineId } = await ci.start({ variables: variables("GIVEN") });
    const { message, ...end } = await carriedOut(pipelineId);
    expect(end).to.deep.equal({ status: "FAILED", child: null });
    expect(message).to.contain("is over 1048576 bytes");
  });
});
