import { expect } from "chai";

import { pipelineCompiler } from "../../../src/platform/pipeline-file/compiler.ts";
import { PipelineFileError } from "../../../src/platform/pipeline-file/value.ts";
import { eventually } from "../../support/eventually.ts";
import { facts } from "../../support/pipeline-file.ts";

const file = ".forge-ci.yaml";

describe("the pipeline compiler", () => {
  const compiler = pipelineCompiler();
  after(() => compiler.close());

  it("compiles in a thread, and queries the service for what the file refers to", async () => {
    const files = { "a.yml": "job: {script: x}", Dockerfile: "" };
    const text = "include: a.yml\nother: {script: y, rules: [{exists: [Dockerfile]}]}";
    const { jobs } = await compiler.compile(text, file, facts({ files }));
    expect(jobs.map(({ name }) => name)).to.deep.equal(["job", "other"]);
  });

  it("names mistakes as the compilation does", async () => {
    const failed = await compiler
      .compile("job: []", file, facts())
      .catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(PipelineFileError);
    expect((failed as PipelineFileError).problems).to.have.length(1);
  });

  it("passes on what a fact throws, and goes on", async () => {
    const readFile = () => Promise.reject(new Error("no disk"));
    const failing = compiler.compile("include: a.yml", file, facts({ readFile }));
    await expect(failing).to.be.rejectedWith("no disk");
    expect((await compiler.compile("job: {script: x}", file, facts())).jobs).to.have.length(1);
  });

  it("gives up a file that takes too long, and reads the next one", async () => {
    const hurried = pipelineCompiler(300);
    const readFile = () => new Promise<never>(() => undefined);
    const stuck = hurried.compile("include: a.yml", file, facts({ readFile }));
    await expect(stuck).to.be.rejectedWith("takes too long");
    await hurried.close();
  });

  it("leaves the event loop to others while it reads a large file", async () => {
    const text = Array.from({ length: 8_000 }, (_, n) => `.j${n}: {script: x}`).join("\n");
    const ticksMeanwhile = async (): Promise<number> => {
      let ticks = 0;
      const timer = setInterval(() => {
        ticks += 1;
      }, 1);
      await compiler.compile(`${text}\njob: {script: x}`, file, facts());
      clearInterval(timer);
      return ticks;
    };
    // A busy machine may leave this thread without a turn now and then.
    await eventually(async () => (await ticksMeanwhile()) > 5);
  });

  it("rejects what waits when it is closed", async () => {
    const closing = pipelineCompiler();
    const waiting = closing.compile("job: {script: x}", file, facts());
    const rejected = expect(waiting).to.be.rejectedWith("closed");
    await closing.close();
    await rejected;
  });
});
