import { expect } from "chai";

import { pipelineScheduleStream } from "../../../../src/events/pipeline/schedule.ts";
import { waitingPerUserMax } from "../../../../src/pipeline-file/compiler.ts";
import { commitCheck } from "../../../../src/projections/pipeline/check.ts";
import { expiredPipelines } from "../../../../src/projections/pipeline/lifetime.ts";
import { dueSchedules } from "../../../../src/projections/pipeline/schedule.ts";
import type { WorkerDeps } from "../../../../src/services/core/deps.ts";
import { creationSlots } from "../../../../src/workers/pipeline/creation-slot.ts";
import { scheduleWorker } from "../../../../src/workers/pipeline/schedule.ts";
import { sweepExpiredPipelines } from "../../../../src/workers/pipeline/sweep.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const { token } = anna;
const file = ".forge-ci.yaml";

let projects = 0;
async function given(yaml = "a: {script: x}") {
  projects += 1;
  const project = await app.givenProject(anna, `start${projects}`);
  const ci = pipelinesOf(app, anna, project);
  const commitId = await ci.commit({ [file]: yaml }, "Add [skip ci]");
  return { ...ci, project, commitId };
}

/** Of tests that start no pipeline: they share it. */
let still: Awaited<ReturnType<typeof given>>;
before(async () => {
  still = await given();
});

/** What workers have, at another time. */
const depsAt = (now: Date) => ({ ...app.deps, now: () => now }) as unknown as WorkerDeps;

describe("a schedule", () => {
  const nightly = { cron: "0 3 * * *", timezone: "Europe/Berlin", refName: "main" };

  it("is created, changed, played and deleted", async () => {
    const ci = await given();
    const at = `${ci.base}/cicd/schedule`;
    const variables = [{ key: "A", value: "b" }];
    const made = await app.post(at, {
      token,
      body: { ...nightly, description: "Nightly", variables },
    });
    expect(made.body).to.include({
      cron: "0 3 * * *",
      refName: "main",
      active: true,
      ownerId: anna.id,
    });
    expect(made.body["variables"]).to.deep.equal([{ key: "A" }]);
    expect(made.body["nextRunAt"]).to.match(/T0[12]:00:00.000Z$/);
    const one = `${at}/${made.body["id"]}`;
    const off = await app.put(one, { token, body: { active: false } });
    expect(off.body).to.include({ active: false, nextRunAt: null, description: "Nightly" });
    const played = await app.post(`${one}/play`, { token });
    expect(played.body).to.include({ source: "SCHEDULE", ref: "main" });
    const list = await app.get(at, { token });
    expect(list.body["page"]).to.include({ totalElements: 1 });
    expect((await app.delete(one, { token })).status).to.equal(200);
    expect((await app.get(one, { token })).status).to.equal(404);
  });

  for (const [what, body, field] of [
    ["that is malformed", { ...nightly, cron: "0 3 * *" }, "cron"],
    ["in an unknown time zone", { ...nightly, timezone: "No/Where" }, "timezone"],
    ["that runs every minute", { ...nightly, cron: "* * * * *" }, "cron"],
  ] as const) {
    it(`is refused ${what}`, async () => {
      const answer = await app.post(`${still.base}/cicd/schedule`, { token, body });
      expect(answer.status).to.equal(422);
      expect((answer.body["errors"] as { field: string }[])[0]?.field).to.equal(field);
    });
  }

  it("is refused for a branch or tag that does not exist, also in a change", async () => {
    const ci = await given();
    const at = `${ci.base}/cicd/schedule`;
    const made = await app.post(at, { token, body: nightly });
    const one = `${at}/${made.body["id"]}`;
    const refs = [{ refName: "gone" }, { refName: "main", isTag: true }];
    for (const ref of refs) {
      const body = { ...nightly, ...ref };
      for (const answer of [
        await app.post(at, { token, body }),
        await app.put(one, { token, body: ref }),
      ]) {
        expect([answer.status, answer.body["code"]], answer.text).to.deep.equal([
          404,
          "ref.not_found",
        ]);
        expect(answer.body["message"]).to.contain("refName");
      }
    }
    const list = await app.get(at, { token });
    expect(list.body["page"]).to.include({ totalElements: 1 });
  });

  it("is turned off and renamed after its branch is gone", async () => {
    const ci = await given();
    const branch = { newBranch: "topic", originBranch: "main" };
    await app.post(`${ci.base}/branch`, { token, body: branch });
    const at = `${ci.base}/cicd/schedule`;
    const made = await app.post(at, { token, body: { ...nightly, refName: "topic" } });
    await app.delete(`${ci.base}/branch?branchName=topic`, { token });
    const one = `${at}/${made.body["id"]}`;
    const body = { active: false, description: "Old", refName: "topic" };
    const off = await app.put(one, { token, body });
    expect(off.body, off.text).to.include({ active: false, description: "Old", refName: "topic" });
  });

  it("starts its pipeline once when it is due, with the rights of its owner", async () => {
    const ci = await given(
      'a: {script: x, rules: [{if: \'$A == "b" && $CI_PIPELINE_SOURCE == "schedule"\'}]}',
    );
    const body = { ...nightly, variables: [{ key: "A", value: "b" }] };
    const { body: made } = await app.post(`${ci.base}/cicd/schedule`, { token, body });
    const due = new Date(String(made["nextRunAt"]));
    const [row] = (await dueSchedules(app.deps.db, due, 100)).filter(({ id }) => id === made["id"]);
    const data = { scheduleId: row!.id, projectId: ci.project.id, dueAt: due.toISOString() };
    const later = depsAt(new Date(due.getTime() + 1_000));
    const signal = new AbortController().signal;
    await Promise.all([
      scheduleWorker.runJob(data, later, signal),
      scheduleWorker.runJob(data, later, signal),
    ]);
    await app.deps.visible(await app.head());
    expect((await ci.pipelines()).map(({ source, userId }) => [source, userId])).to.deep.equal([
      ["SCHEDULE", anna.id],
    ]);
    const after = await app.get(`${ci.base}/cicd/schedule/${made["id"]}`, { token });
    expect(new Date(String(after.body["nextRunAt"])).getTime() - due.getTime()).to.be.oneOf(
      [23, 24, 25].map((hours) => hours * 3_600_000),
    );
  });

  const owners = {
    "may not start pipelines any more": (id: unknown) =>
      app.deps.db("pipeline_schedule").where({ id }).update({ owner_id: bob.id }),
    "is banned": () =>
      app.deps.db("app_user").where({ id: anna.id }).update({ banned_at: new Date() }),
  };
  for (const [what, happens] of Object.entries(owners)) {
    it(`is turned off when its owner ${what}`, async () => {
      const ci = still;
      const { body: made } = await app.post(`${ci.base}/cicd/schedule`, { token, body: nightly });
      await happens(made["id"]);
      const dueAt = String(made["nextRunAt"]);
      const data = { scheduleId: made["id"], projectId: ci.project.id, dueAt };
      await scheduleWorker.runJob(data, depsAt(new Date(dueAt)), new AbortController().signal);
      await app.deps.db("app_user").where({ id: anna.id }).update({ banned_at: null });
      const types: string[] = [];
      for await (const { type } of app.deps.store.readStream(
        pipelineScheduleStream(String(made["id"])),
      )) {
        types.push(type);
      }
      expect(types).to.deep.equal(["PipelineScheduleCreated", "PipelineScheduleTurnedOff"]);
      expect(await ci.pipelines()).to.deep.equal([]);
    });
  }
});

describe("a schedule that waits behind other pipelines of its owner", () => {
  it("is turned off when its owner loses the right meanwhile", async () => {
    const ci = still;
    const body = { cron: "0 3 * * *", refName: "main" };
    const { body: made } = await app.post(`${ci.base}/cicd/schedule`, { token, body });
    const { signal } = new AbortController();
    const frees: (() => void)[] = [];
    const others = Array.from({ length: waitingPerUserMax }, () =>
      creationSlots.run(() => new Promise<void>((free) => frees.push(free)), { caller: anna.id }),
    );
    await eventually(() => frees.length === waitingPerUserMax);
    const dueAt = String(made["nextRunAt"]);
    const data = { scheduleId: made["id"], projectId: ci.project.id, dueAt };
    const running = scheduleWorker.runJob(data, depsAt(new Date(dueAt)), signal);
    await eventually(() => creationSlots.waiting(anna.id) === 1);
    await app.deps.db("app_user").where({ id: anna.id }).update({ banned_at: new Date() });
    for (const free of frees) free();
    await Promise.all([running, ...others]);
    await app.deps.db("app_user").where({ id: anna.id }).update({ banned_at: null });
    await app.deps.visible(await app.head());
    expect(await ci.pipelines()).to.deep.equal([]);
    const after = await app.get(`${ci.base}/cicd/schedule/${made["id"]}`, { token });
    expect(after.body).to.include({ active: false });
  });
});

describe("a trigger", () => {
  it("starts pipelines for holders of its token, which is shown once", async () => {
    const ci = await given("a: {script: x, rules: [{if: $WANTED}]}");
    const at = `${ci.base}/cicd/trigger`;
    const made = await app.post(at, { token, body: { description: "Outside" } });
    const variables = [{ key: "WANTED", value: "1" }];
    const body = { token: made.body["token"], refName: "main", variables };
    const started = await app.post(`${at}/pipeline`, { body });
    expect([started.status, started.body["source"]]).to.deep.equal([200, "TRIGGER"]);
    const list = await app.get(at, { token });
    expect(JSON.stringify(list.body)).not.to.contain(made.body["token"]);
    expect(
      (await app.post(`${at}/pipeline`, { body: { ...body, refName: "gone" } })).status,
    ).to.equal(404);
    expect((await app.delete(`${at}/${made.body["id"]}`, { token })).status).to.equal(200);
    expect((await app.post(`${at}/pipeline`, { body })).status).to.equal(403);
  });

  it("starts nothing for an owner who is banned", async () => {
    const ci = await given();
    const at = `${ci.base}/cicd/trigger`;
    const made = await app.post(at, { token, body: { description: "Outside" } });
    const owner = app.deps.db("app_user").where({ id: anna.id });
    await owner.clone().update({ banned_at: new Date() });
    const body = { token: made.body["token"], refName: "main" };
    const { status } = await app.post(`${at}/pipeline`, { body });
    await owner.update({ banned_at: null });
    expect(status).to.equal(403);
    expect((await app.post(`${at}/pipeline`, { body })).status).to.equal(200);
  });

  it("answers the same for a wrong token and for that of another project", async () => {
    const [ci, other] = [still, await given()];
    const made = await app.post(`${ci.base}/cicd/trigger`, { token, body: {} });
    const post = (base: string, given: unknown) =>
      app.post(`${base}/cicd/trigger/pipeline`, { body: { token: given, refName: "main" } });
    for (const answer of [
      await post(ci.base, "wrong"),
      await post(other.base, made.body["token"]),
    ]) {
      expect([answer.status, answer.body["code"]]).to.deep.equal([403, "trigger.token_invalid"]);
    }
  });
});

describe("the status of a commit", () => {
  it("is what systems outside reported last, by name", async () => {
    const ci = await given();
    const [commit] = (await app.get(`${ci.base}/commits`, { token })).body["_embedded"]
      ? [ci.commitId]
      : [ci.commitId];
    const at = `${ci.base}/commit/${commit}/status`;
    const report = (body: object) => app.post(at, { token, body });
    const first = await report({
      name: "build",
      status: "RUNNING",
      targetUrl: "https://ci.example.org/1",
    });
    expect([first.status, first.body["status"]]).to.deep.equal([200, "RUNNING"]);
    expect(await commitCheck(app.deps.db, ci.project.id, commit!)).to.equal("RUNNING");
    await report({ name: "build", status: "SUCCESS" });
    await report({ name: "lint", status: "FAILED" });
    const list = await app.get(at, { token });
    const statuses = (
      list.body["_embedded"] as { commitStatusList: { name: string; status: string }[] }
    ).commitStatusList;
    expect(statuses.map(({ name, status }) => [name, status])).to.deep.equal([
      ["build", "SUCCESS"],
      ["lint", "FAILED"],
    ]);
    expect(await commitCheck(app.deps.db, ci.project.id, commit!)).to.equal("FAILED");
    await report({ name: "lint", status: "SUCCESS" });
    expect(await commitCheck(app.deps.db, ci.project.id, commit!)).to.equal("PASSED");
    await ci.start();
    expect(await commitCheck(app.deps.db, ci.project.id, commit!)).to.equal("RUNNING");
  });

  it("is refused for an odd URL, an unknown status and a commit that is not there", async () => {
    const ci = still;
    const report = (hash: string, body: object) =>
      app.post(`${ci.base}/commit/${hash}/status`, { token, body });
    const body = { name: "x", status: "SUCCESS" };
    expect(
      (await report(ci.commitId, { ...body, targetUrl: "javascript:alert(1)" })).status,
    ).to.equal(422);
    expect((await report(ci.commitId, { ...body, status: "ODD" })).status).to.equal(422);
    expect((await report("0".repeat(40), body)).status).to.equal(404);
  });
});

describe("the lifetime of pipelines", () => {
  it("is set by a team, and deletes what is older in its projects", async () => {
    const team = { title: "Crew", alias: "crew", isPrivate: true };
    expect((await app.post("/team", { token, body: team })).status).to.equal(200);
    const at = "/team/crew/setting/cicd/pipeline-lifetime";
    expect((await app.get(at, { token })).body).to.include({ enabled: false, ownerType: "TEAM" });
    const body = {
      title: "Old",
      alias: "old",
      ownerAlias: "crew",
      ownerAliasType: "TEAM",
      isPrivate: true,
      language: "en",
      description: "",
    };
    const made = await app.post("/project", { token, body });
    expect(made.status, made.text).to.equal(200);
    const project = { id: made.body["id"] as never, ownerAlias: "crew", alias: "old" };
    const ci = pipelinesOf(app, anna, project);
    await ci.commit({ [file]: "a: {script: x}" }, "Add [skip ci]");
    const [{ localId }] = [await ci.start(), await ci.start()] as [{ localId: number }, unknown];
    await app.post(`${ci.base}/cicd/pipeline/${localId}/cancel`, { token });
    const set = await app.put(at, { token, body: { lifetime: 2, enabled: true } });
    expect(set.body).to.include({ lifetime: 2, enabled: true });
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
    expect(await expiredPipelines(app.deps.db, inDays(1), 10)).to.deep.equal([]);
    await sweepExpiredPipelines(depsAt(inDays(3)));
    await app.deps.visible(await app.head());
    // The other one has not ended.
    expect(await ci.pipelines()).to.have.length(1);
    expect((await app.put(at, { token, body: { lifetime: 0 } })).status).to.equal(422);
  });
});
