import { expect } from "chai";

import { PipelineCompiler } from "../../src/pipeline-file/compiler.ts";
import { PipelineFileError } from "../../src/pipeline-file/value.ts";
import { facts } from "../support/agent/pipeline-file.ts";
import { eventually } from "../support/app/eventually.ts";

const file = (text: string, { user = "anna", project = "search" } = {}) => ({
  ...{ text, user, project },
  fileName: ".forge-ci.yaml",
});

type By = Readonly<{ user: string; project: string }>;

describe("the pipeline compiler", () => {
  const compiler = new PipelineCompiler();

  it("compiles in a process, and queries the service for what the file refers to", async () => {
    const files = { "a.yml": "job: {script: x}", Dockerfile: "" };
    const text = "include: a.yml\nother: {script: y, rules: [{exists: [Dockerfile]}]}";
    const { jobs } = await compiler.compile(file(text), facts({ files }));
    expect(jobs.map(({ name }) => name)).to.deep.equal(["job", "other"]);
  });

  it("names mistakes as the compilation does", async () => {
    const failed = await compiler
      .compile(file("job: []"), facts())
      .catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(PipelineFileError);
    expect((failed as PipelineFileError).problems).to.have.length(1);
  });

  it("passes on what a fact throws, and goes on", async () => {
    const readFile = () => Promise.reject(new Error("no disk"));
    const failing = compiler.compile(file("include: a.yml"), facts({ readFile }));
    await expect(failing).to.be.rejectedWith("no disk");
    expect((await compiler.compile(file("job: {script: x}"), facts())).jobs).to.have.length(1);
  });

  it("rejects a file that cannot be sent to its process, and reads those after it", async () => {
    const outer = new Map([["A", (() => "no text") as unknown as string]]);
    const text = "job: {script: x}";
    const other = { user: "bob", project: "docs" };
    const waiting = [
      compiler.compile(file(text), facts({ readFile: async () => text })),
      compiler.compile(file(text, other), { ...facts(), outer }),
    ];
    const after = compiler.compile(file(text, { user: "eve", project: "wiki" }), facts());
    const [first, unsent] = await Promise.allSettled(waiting);
    expect(first?.status).to.equal("fulfilled");
    expect(unsent).to.have.property("status", "rejected");
    expect(String(unsent?.status === "rejected" && unsent.reason)).to.contain("cloned");
    expect((await after).jobs).to.have.length(1);
  });

  it("gives up a file that takes too long, and reads the next one", async () => {
    const hurried = new PipelineCompiler(300);
    const readFile = () => new Promise<never>(() => undefined);
    const stuck = hurried.compile(file("include: a.yml"), facts({ readFile }));
    await expect(stuck).to.be.rejectedWith("takes too long");
  });

  it("leaves the event loop to others while it reads a large file", async () => {
    const text = Array.from({ length: 8_000 }, (_, n) => `.j${n}: {script: x}`).join("\n");
    const ticksMeanwhile = async (): Promise<number> => {
      let ticks = 0;
      const timer = setInterval(() => {
        ticks += 1;
      }, 1);
      await compiler.compile(file(`${text}\njob: {script: x}`), facts());
      clearInterval(timer);
      return ticks;
    };
    // A busy machine may leave this thread without a turn now and then.
    await eventually(async () => (await ticksMeanwhile()) > 5);
  });

  const nth = (name: string, n: number): string => `${name} ${n}`;
  const floods = {
    "one user in one project": () => ({ user: "anna", project: "search" }),
    "one user in many projects": (n: number) => ({ user: "anna", project: nth("fork", n) }),
    "many users in one project": (n: number) => ({ user: nth("anna", n), project: "search" }),
  };
  for (const [of, by] of Object.entries(floods)) {
    it(`lets a file wait for one file of a flood of ${of}`, async () => {
      const place = await placeAmong(by, { user: "bob", project: "docs" });
      expect(place).to.be.at.most(1);
    });
  }

  it("lets a file wait for one file of another user who floods the same project", async () => {
    const by = { user: "bob", project: "search" };
    const place = await placeAmong(floods["one user in one project"], by);
    expect(place).to.be.at.most(1);
  });

  /** Both that there are: the start of one takes as long as many files. */
  async function startProcesses(): Promise<void> {
    let started = 0;
    const readFile = async () => {
      started += 1;
      await eventually(() => started === 2);
      return "job: {script: x}";
    };
    const users = ["carl", "dora"].map((user) => ({ user, project: user }));
    await Promise.all(
      users.map((by) => compiler.compile(file("include: a.yml", by), facts({ readFile }))),
    );
  }

  /**
   * How many of ten files that came before it are read before a file. From the second on they wait for that file, so
   * that the place does not depend on which process is quicker; a file that waits for two would be given up.
   */
  async function placeAmong(flood: (n: number) => By, by: By): Promise<number> {
    await startProcesses();
    const read: string[] = [];
    const compile = (name: string, one: By) => {
      const readFile = async () => {
        if (name !== "other" && read.length > 0) await eventually(() => read.includes("other"));
        read.push(name);
        return "job: {script: x}";
      };
      return compiler.compile(file("include: a.yml", one), facts({ readFile }));
    };
    const before = Array.from({ length: 10 }, (_, n) => compile(nth("flood", n), flood(n)));
    await Promise.all([...before, compile("other", by)]);
    expect(read).to.have.length(11);
    return read.indexOf("other");
  }

  it("refuses the files of a user who has too many waiting, and none of another", async () => {
    const text = "job: {script: x}";
    const many = Array.from({ length: 26 }, () => compiler.compile(file(text), facts()));
    const other = compiler.compile(file(text, { user: "bob", project: "docs" }), facts());
    const results = await Promise.allSettled(many);
    const refused = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused.map(({ code, kind }) => [code, kind])).to.deep.equal([
      ["pipeline.busy", "unavailable"],
    ]);
    expect((await other).jobs).to.have.length(1);
  });
});
