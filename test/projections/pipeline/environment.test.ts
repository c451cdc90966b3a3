import { expect } from "chai";
import type { AnyEvent } from "../../../src/events/core/event.ts";
import { environmentStream } from "../../../src/events/pipeline/environment.ts";
import { jobStream } from "../../../src/events/pipeline/job.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { environmentProjection } from "../../../src/projections/pipeline/environment.ts";
import { commitId, jobIdOf, pipelineId, projectId, userId } from "../../support/agent/pipeline.ts";
import { at, history } from "../../support/app/history.ts";
import {
  applyEach,
  context,
  project,
  reset,
  rewind,
  rowsOf,
} from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

type Written = readonly [stream: string, event: AnyEvent];

const environmentId = deterministicId("environment");
const environment = {
  environmentId,
  name: "production",
  action: "start",
  tier: null,
  url: null,
  onStop: "halt",
  autoStopInSeconds: 60,
  ref: "main",
  isTag: false,
  commitId,
  userId,
};
const ofJob = (name: string, type: string, data: object = {}): Written => [
  jobStream(jobIdOf(name)),
  {
    type: `Job${type}`,
    data: { jobId: jobIdOf(name), pipelineId, projectId, attempt: 1, ...data },
  },
];
const queued = (name: string, change: object = {}) =>
  ofJob(name, "Queued", { environment: { ...environment, ...change }, queuedAt: at });
const succeeded = (name: string) => ofJob(name, "Succeeded", { finishedAt: at });
const canceled = (name: string) => ofJob(name, "Canceled", { canceledById: null, canceledAt: at });
const failed = (name: string) =>
  ofJob(name, "Failed", {
    ...{ reason: "script_failure", exitCode: 1, allowed: false },
    finishedAt: at,
  });
const ofEnvironment = (type: string, data: object): Written => [
  environmentStream(environmentId),
  { type, data: { environmentId, projectId, name: "production", ...data } },
];

const whole: readonly Written[] = [
  ofJob("build", "Queued", { queuedAt: at }),
  succeeded("build"),
  queued("gone"),
  ofEnvironment("EnvironmentDeleted", { deletedById: userId, deletedAt: at }),
  succeeded("gone"),
  queued("a"),
  ofJob("a", "Started", { agentId: userId, tokenHash: "a", startedAt: at }),
  ofJob("a", "Returned", { agentId: userId, returnedAt: at }),
  ofJob("a", "Started", { agentId: null, startedAt: at }),
  succeeded("a"),
  queued("look", { action: "access" }),
  succeeded("look"),
  queued("b"),
  failed("b"),
  queued("c"),
  canceled("c"),
  queued("halt", { action: "stop" }),
  canceled("halt"),
];

const apply = (events: readonly Written[]) =>
  project(db, environmentProjection, history(...events), context);

describe("the read model of environments", () => {
  beforeEach(() => reset(db, environmentProjection));

  it("shows the last success, and numbers what deploys", async () => {
    await apply(whole);
    expect(await db("environment").first()).to.deep.include({
      state: "AVAILABLE",
      deployments: 4,
      last_number: 2,
      on_stop: "halt",
      auto_stop_at: null,
    });
    const rows: readonly { number: number | null; status: string }[] = await db("deployment")
      .orderBy("number")
      .select("number", "status");
    expect(rows.map(({ number, status }) => [number, status])).to.deep.equal([
      [1, "SUCCESS"],
      [2, "SUCCESS"],
      [3, "FAILED"],
      [4, "CANCELED"],
      [null, "SUCCESS"],
      [null, "CANCELED"],
    ]);
  });

  it("is stopped by a job and deployed to again", async () => {
    const stopped = [...whole, queued("end", { action: "stop" }), succeeded("end")];
    await apply(stopped);
    expect(await db("environment").first("state")).to.deep.equal({ state: "STOPPED" });
    const again = [queued("d"), succeeded("d")];
    await apply([...stopped, ...again]);
    const shown = await db("environment").first("state", "last_number");
    expect(shown).to.deep.equal({ state: "AVAILABLE", last_number: 5 });
  });

  it("shows a run as pending that was started and returned", async () => {
    const given = ofJob("a", "Started", { agentId: userId, tokenHash: "a", startedAt: at });
    const returned = ofJob("a", "Returned", { agentId: userId, returnedAt: at });
    await apply([queued("a"), given, returned]);
    const shown = await db("deployment").first("status", "started_at");
    expect(shown).to.deep.equal({ status: "PENDING", started_at: null });
    await apply([queued("a"), given, returned, given, succeeded("a")]);
    expect(await db("deployment").first("status")).to.deep.equal({ status: "SUCCESS" });
  });

  it("is made anew by a run that was queued while a user deleted it", async () => {
    const deleted = ofEnvironment("EnvironmentDeleted", { deletedById: userId, deletedAt: at });
    const before = [queued("before"), succeeded("before"), queued("d")];
    await apply([
      ...before,
      ofEnvironment("EnvironmentStopped", { stoppedById: userId, stoppedAt: at }),
      deleted,
    ]);
    const columns = ["state", "deployments", "last_number", "on_stop"];
    const made = { state: "AVAILABLE", deployments: 1, last_number: null, on_stop: null };
    expect(await db("environment").first(columns)).to.deep.equal(made);
    await reset(db, environmentProjection);
    await apply([...before, deleted, succeeded("d"), queued("e"), deleted, failed("e"), deleted]);
    expect(await db("environment").first(columns)).to.equal(undefined);
    expect(await db("deployment").first()).to.equal(undefined);
  });

  it("ends the same when delivered again, in parts, or from the start", async () => {
    const events = history(...whole);
    await project(db, environmentProjection, events, context);
    const live = await rowsOf(db, environmentProjection);
    expect(live["deployment"]).to.have.length(6);
    for (const some of [events.slice(0, 1), events.slice(4), events]) {
      await project(db, environmentProjection, some, context);
      expect(await rowsOf(db, environmentProjection)).to.deep.equal(live);
    }
    await rewind(db, environmentProjection);
    await project(db, environmentProjection, events, context);
    expect(await rowsOf(db, environmentProjection)).to.deep.equal(live);
    await reset(db, environmentProjection);
    for (const event of events) await project(db, environmentProjection, [event], context);
    expect(await rowsOf(db, environmentProjection)).to.deep.equal(live);
  });

  it("ends the same one event at a time, and all at once", async () => {
    const events = history(...whole);
    await project(db, environmentProjection, events, context);
    const live = await rowsOf(db, environmentProjection);
    for (const batches of [events.map((event) => [event]), [events]]) {
      await reset(db, environmentProjection);
      await applyEach(db, environmentProjection, batches);
      expect(await rowsOf(db, environmentProjection)).to.deep.equal(live);
    }
  });
});
