import { expect } from "chai";

import {
  optionRemarks,
  optionsFor,
  readPushOptions,
} from "../../../../src/services/git/push-option.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { optionWorld } from "../../../support/git/option-world.ts";

const given = await optionWorld();

describe("push options", () => {
  it("skip pipelines and give them variables", async () => {
    const { ci, push } = given();
    await push("one", "ci.skip");
    await push("two", "ci.variable=DEPLOY=to = all", "ci.variable=OTHER=");
    await push("three");
    await eventually(async () => (await ci.pipelines()).length >= 2);
    const names = async (ref: string) => {
      const [found] = await ci.pipelines(`?branch=${ref}`);
      return found && (await ci.jobs(found["localId"])).map(({ name }) => name).sort();
    };
    await eventually(async () => (await names("three")) !== undefined);
    await eventually(async () => expect(await names("two")).to.deep.equal(["always", "deploy"]));
    await eventually(async () => expect(await names("three")).to.deep.equal(["always"]));
    expect(await names("one")).to.equal(undefined);
  });

  it("open a merge request, once for its pair of branches", async () => {
    const { push, requests } = given();
    await push("topic", "merge_request.create", "ci.skip");
    await eventually(async () => (await requests()).length === 1);
    expect((await requests())[0]).to.include({ title: "Add a pipeline", workInProgress: false });
    await push("other", "ci.skip");
    const options = ["target=other", "title=Mine", "draft", "remove_source_branch"];
    const wishes = options.map((option) => `merge_request.${option}`);
    await push("more", "merge_request.create", ...wishes, "ci.skip");
    await eventually(async () => (await requests()).length === 2);
    const made = (await requests()).find(({ title }) => title === "Mine");
    expect(made).to.deep.include({ workInProgress: true, removeSourceBranch: true });
    expect(JSON.stringify(made?.["targetBranch"])).to.contain("other");
  });

  it("that nobody knows are named, and the push goes on", async () => {
    const { push } = given();
    const output = await push("five", "nope=1", "ci.variable=not-a-name=secret", "ci.skip");
    expect(output).to.contain("The push option nope=1 is not known");
    expect(output).to.contain("The push option ci.variable is").and.not.contain("secret");
  });

  it("are read one by one", () => {
    const none = { target: null, title: null, draft: false, removeSourceBranch: null };
    const usual = { ...none, mergeWhenPipelineSucceeds: false };
    const read = readPushOptions([
      "merge_request.create",
      "merge_request.merge_when_pipeline_succeeds",
      "ci.skip=no",
      "merge_request.title=",
      "__proto__",
      "ci.variable=A=1",
      "ci.variable=A=2",
    ]);
    expect(read).to.deep.equal({
      ciSkip: false,
      ciVariables: { A: "2" },
      mergeRequest: { ...usual, mergeWhenPipelineSucceeds: true },
      unknown: ["ci.skip=no", "merge_request.title=", "__proto__"],
    });
    expect(optionRemarks(read)).to.have.length(3);
    expect(readPushOptions(["merge_request.draft"]).mergeRequest).to.equal(null);
  });

  it("of texts that no store keeps, or for too many branches, have no effect", () => {
    const given = ["merge_request.title=a\0", "merge_request.target=\ud800", "ci.variable=A=\0"];
    const read = readPushOptions(["merge_request.create", ...given]);
    expect(read.unknown).to.deep.equal(given);
    const commands = (count: number) =>
      Array.from({ length: count }, (_, each) => ({ ref: `refs/heads/${each}`, after: "1" }));
    expect(optionsFor(read, commands(10))).to.deep.equal(read);
    const tooMany = optionsFor(read, commands(11));
    expect(tooMany.mergeRequest).to.equal(null);
    expect(optionRemarks(tooMany).at(-1)).to.contain("for 10 branches at most");
  });
});
