import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { jobPayload } from "../../../src/services/pipeline/payload.ts";
import { startedMax } from "../../../src/workers/pipeline/downstream.ts";
import { file, givenTriggers, ruled } from "../../support/pipeline/triggers.ts";

const { app, db, givenProject, carriedOut, given, messageOf } = await givenTriggers();

describe("a pipeline whose file starts itself", () => {
  it("starts no more than a thousand others in all", async () => {
    const { child } = await carriedOut(await given());
    const row = await db("pipeline").where({ id: child }).first();
    const copies = Array.from({ length: startedMax - 2 }, () => {
      const more = { merge_request: null, local_id: null, number: null };
      return { ...row, ...more, id: randomUUID() };
    });
    await db.batchInsert("pipeline", copies, 100);
    const last = await carriedOut(child);
    expect(last.status).to.equal("SUCCESS");
    const end = await carriedOut(last.child);
    expect(end).to.include({ status: "FAILED", child: null });
    expect(end.message).to.contain("1000 others");
  });
});

describe("a job that starts a pipeline of another project", () => {
  it("lets the rules and jobs there see that it is no child pipeline", async () => {
    const rules = `[{if: '$CI_PIPELINE_SOURCE == "pipeline"'}]`;
    const there = await givenProject({ [file]: `theirs: {script: x, rules: ${rules}}` });
    const ci = await givenProject({ [file]: `a: {trigger: ${there.path}}` });
    const { child, message } = await carriedOut((await ci.start())["pipeline_uuid"]);
    expect(message).to.equal(null);
    const job = await db("pipeline_job").where({ pipeline_id: child }).first();
    const payload = await jobPayload(app.deps, job, "token");
    const source = payload?.variables.find(({ key }) => key === "CI_PIPELINE_SOURCE");
    expect(source?.value).to.equal("pipeline");
  });
});

describe("a job that starts nothing", () => {
  it("cuts what a mistake says between characters", async () => {
    const include = "child.yml";
    for (const name of ["x", "xy"]) {
      const yaml = JSON.stringify({ [name + "😀".repeat(1_200)]: [] });
      expect(await messageOf({ include }, { [include]: yaml }))
        .to.contain("😀")
        .and.not.contain("\ufffd");
    }
  });

  it("names the mistakes in the file of a child pipeline", async () => {
    const include = "child.yml";
    const wrong = await messageOf({ include }, { [include]: "x: []" });
    expect(wrong).to.match(/^Pipeline #2: child\.yml:1:1: x: /);
    const none = await messageOf({ include }, { [include]: ruled });
    expect(none).to.equal("Pipeline #2: The rules of the file leave no job.");
  });
});
