import { expect } from "chai";
import { file, givenTriggers, ruled } from "../../support/pipeline/triggers.ts";

const { app, givenProject, carriedOut, given, messagesOf } = await givenTriggers();

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
  const works = "x: {script: x}";
  const start = (...targets: readonly (readonly [path: string, branch?: string])[]) =>
    messagesOf(targets.map(([project, branch]) => ({ project, branch })));

  it("says what is wrong with a public project", async () => {
    const theirs = await givenProject({ [file]: works }, { owner: bob, private: false });
    const empty = await givenProject({ "a.txt": "a" }, { private: false });
    const none = await givenProject({ [file]: ruled }, { private: false });
    const wrong = await givenProject({ [file]: "x: []" }, { private: false });
    const [forbidden, ...others] = await start(
      [theirs.path],
      [theirs.path, "gone"],
      [empty.path],
      [none.path],
      [wrong.path],
    );
    expect(forbidden).to.contain("may not start pipelines on that branch or tag");
    expect(others[1]).to.contain("no pipeline file");
    expect([others[0], ...others.slice(2)]).to.deep.equal([
      "The project has no such branch or tag.",
      "The rules of the file leave no job.",
      "Pipeline #1 of the project has mistakes in its file.",
    ]);
  });

  it("says the same of every private project as of one that does not exist", async () => {
    const open = await givenProject({ [file]: works }, { private: false });
    const hidden = [
      await givenProject({ [file]: works }, { owner: bob, private: true }),
      await givenProject({ [file]: ruled }, { private: true }),
      await givenProject({ [file]: "x: []" }, { private: true }),
    ];
    const paths = ["$NONE", "x", "/", `${open.path}/more`, `/${open.path}`];
    const [missing, ...others] = await start(
      ["bob/missing"],
      ...paths.map((path) => [path] as const),
      ...hidden.map(({ path }) => [path] as const),
      ...hidden.map(({ path }) => [path, "gone"] as const),
    );
    expect(missing).to.contain("does not exist").and.contain("may not start");
    expect(others).to.deep.equal(Array(11).fill(missing));
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
