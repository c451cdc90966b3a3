import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { jobStream } from "../../../src/events/pipeline/job.ts";
import { advancePipeline } from "../../../src/services/pipeline/advance.ts";
import { pipelineAdvance } from "../../../src/workers/pipeline/advance-worker.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { db, store } = app.deps;

const yaml = `
stages: [build, test]
build: {stage: build, script: x, retry: 1}
test: {stage: test, script: x}
`;

async function typesAfter(position: bigint | undefined): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { type } of store.readAll(position === undefined ? {} : { after: position })) {
    types.push(type);
  }
  return types;
}

describe("advancing a pipeline", () => {
  it("skips nothing for a job that failed and is tried again, of which the failure alone is shown", async () => {
    await at.commit({ ".forge-ci.yaml": yaml }, "Add [skip ci]");
    const { localId } = await at.start();
    const { id } = await db("pipeline")
      .where({ local_id: Number(localId) })
      .first("id");
    const build = () => db("pipeline_job").where({ pipeline_id: id, name: "build" });
    const before = await store.head();
    await build().update({ status: "FAILED" });
    const visible = async (): Promise<void> => void (await build().update({ status: "PENDING" }));
    const deps = { ...app.deps, visible } as never;
    await advancePipeline(deps, id, { id: "a cause", correlationId: "a cause" });
    expect(await typesAfter(before)).to.deep.equal([]);
  });

  it("reads few jobs after a success that others need by name", async () => {
    const jobs = ["one: {script: x}", "two: {script: x, needs: [one]}"];
    const rest = "three: {script: x, needs: [two]}";
    await at.commit({ ".forge-ci.yaml": [...jobs, rest].join("\n") }, "Add a chain [skip ci]");
    const { localId } = await at.start();
    const { id } = await db("pipeline")
      .where({ local_id: Number(localId) })
      .first("id");
    const [one, two] = await db("pipeline_job").where({ pipeline_id: id }).orderBy("place");
    await db("pipeline_job").where({ id: one.id }).update({ status: "SUCCESS" });
    const before = await store.head();
    const statements: string[] = [];
    const note = ({ sql }: { sql: string }) => statements.push(sql);
    db.on("query", note);
    try {
      await advancePipeline(app.deps, id, { id: "success", correlationId: "success" }, one);
    } finally {
      db.off("query", note);
    }
    expect(await typesAfter(before)).to.deep.equal(["JobQueued"]);
    for await (const event of store.readStream(jobStream(two.id)))
      expect(event.revision).to.equal(0n);
    // The app sends others meanwhile.
    const lists = statements.filter((sql) => /from "pipeline_job" .*order by/s.test(sql));
    expect(lists).to.deep.equal([]);
  });

  describe("by what reacts to the ends of jobs", () => {
    let files = 0;
    const fanIn = ["a: {script: x}", "b: {script: x}", "c: {script: x, needs: [a, b]}"];

    /** What is left for the queue, and which events came, after these jobs of a pipeline succeeded together. */
    async function outcomeOf(
      lines: readonly string[],
      names: readonly string[],
      deps: object = {},
    ) {
      await at.commit(
        { ".forge-ci.yaml": `# ${++files}\n${lines.join("\n")}` },
        "Add a graph [skip ci]",
      );
      const { localId } = await at.start();
      const { id: pipelineId } = await db("pipeline")
        .where({ local_id: Number(localId) })
        .first("id");
      const rows = await db("pipeline_job").where({ pipeline_id: pipelineId });
      const jobIds = names.map((name) => rows.find((row) => row.name === name).id);
      await db("pipeline_job").whereIn("id", jobIds).update({ status: "SUCCESS" });
      const ends = jobIds.map((jobId) => ({
        ...{ id: `end of ${jobId}`, type: "JobSucceeded", data: { jobId, pipelineId } },
        ...{ position: 0n, metadata: { correlationId: "c" } },
      }));
      const before = await store.head();
      const given = { ...app.deps, ...deps } as never;
      const jobs = await pipelineAdvance.reactAll!(ends as never, given);
      return { left: jobs.length, types: await typesAfter(before) };
    }

    it("queues a job that needs them by name at once, and once", async () => {
      let appends = 0;
      const append: typeof store.append = (...given) => {
        appends += 1;
        return store.append(...given);
      };
      const done = { left: 0, types: ["JobQueued"] };
      const counted = { store: { ...store, append } };
      expect(await outcomeOf(fanIn, ["a", "b"], counted)).to.deep.equal(done);
      expect(appends).to.equal(1);
      expect(await outcomeOf(fanIn, ["a"])).to.deep.equal({ left: 0, types: [] });
    });

    it("leaves more than that to the queue", async () => {
      const [a, b] = fanIn as [string, string];
      for (const more of ["environment: prod", "resource_group: g", "when: manual"]) {
        const c = `c: {script: x, needs: [a, b], ${more}}`;
        expect(await outcomeOf([a, b, c], ["a", "b"]), more).to.deep.equal({ left: 2, types: [] });
      }
      const trigger = "c: {trigger: {include: child.yml}, needs: [a, b]}";
      await at.commit({ "child.yml": "x: {script: x}" }, "Add [skip ci]");
      expect(await outcomeOf([a, b, trigger], ["a", "b"])).to.deep.equal({ left: 2, types: [] });
    });

    it("leaves to the queue what the event store does not take now", async () => {
      const append = () => Promise.reject(new Error("away"));
      const away = { store: { ...store, append }, log: app.deps.log };
      const { left, types } = await outcomeOf(fanIn, ["a", "b"], away);
      expect({ isLeft: left > 0, types }).to.deep.equal({ isLeft: true, types: [] });
    });
  });

  it("orders each job once after ends that come together", async () => {
    const jobs = ["one", "two", "three"].map((name) => `${name}: {stage: test, script: x}`);
    const stages = ["stages: [build, test]", "build: {stage: build, script: x}"];
    await at.commit({ ".forge-ci.yaml": [...stages, ...jobs].join("\n") }, "Add [skip ci]");
    const { localId } = await at.start();
    const { id } = await db("pipeline")
      .where({ local_id: Number(localId) })
      .first("id");
    await db("pipeline_job")
      .where({ pipeline_id: id, name: "build" })
      .update({ status: "SUCCESS" });
    const streams: string[] = [];
    const append: typeof store.append = (stream, ...order) => {
      streams.push(stream);
      return store.append(stream, ...order);
    };
    const deps = { ...app.deps, store: { ...store, append } } as never;
    const ends = ["an end", "another end"].map((end) => ({ id: end, correlationId: end }));
    await Promise.all(ends.map((cause) => advancePipeline(deps, id, cause)));
    expect(streams).to.have.length(3);
    expect(new Set(streams)).to.have.property("size", 3);
  });
});

describe("restarting a pipeline", () => {
  const byHand = `
stages: [build, test]
one: {stage: build, script: x, when: manual, allow_failure: true}
two: {stage: test, script: x}
`;
  const locks = "select from pg_locks join pg_database on pg_database.oid = database";
  const waits = async () => {
    const here = "locktype = 'advisory' and not granted and datname = current_database()";
    return (await db.raw(`${locks} where ${here}`)).rows.length > 0;
  };

  it("is not ended by a check of it while some of its jobs have not started anew", async () => {
    await at.commit({ ".forge-ci.yaml": byHand }, "Add by hand [skip ci]");
    const { localId } = await at.start();
    const path = `${at.base}/cicd/pipeline/${localId}`;
    expect((await app.post(`${path}/cancel`, { token: at.token })).status).to.equal(200);
    const row = await db("pipeline")
      .where({ local_id: Number(localId) })
      .first();
    const one = await db("pipeline_job").where({ pipeline_id: row.id, name: "one" }).first();
    expect(row).to.include({ status: "CANCELED" });
    const before = await store.head();
    const append = store.append.bind(store);
    let looking: Promise<unknown> | undefined;
    const hooked: Partial<typeof store> = {
      append: async (stream, ...more) => {
        const done = await append(stream, ...more);
        if (stream !== jobStream(one.id) || looking !== undefined) return done;
        looking = Promise.resolve();
        await app.deps.visible(done.position);
        const cause = { id: "a look in between", correlationId: "a look" };
        looking = advancePipeline(app.deps, row.id, cause);
        await Promise.race([looking, eventually(waits)]);
        return done;
      },
    };
    Object.assign(store, hooked);
    try {
      const answer = await app.post(`${path}/restart`, { token: at.token });
      expect(answer.status, answer.text).to.equal(200);
      await looking;
    } finally {
      Object.assign(store, { append });
    }
    expect(await typesAfter(before))
      .to.include("JobHeld")
      .and.not.include("PipelineFinished");
    expect(await at.pipeline(localId)).to.include({ status: "PENDING", finishedAt: null });
  });
});

describe("what is to be checked after the ends of jobs", () => {
  const twoStages = `
stages: [build, test]
one: {stage: build, script: x}
two: {stage: build, script: x}
alone: {stage: build, script: x, resource_group: g}
test: {stage: test, script: x}
`;
  const jobEnd = { type: "JobSucceeded", position: 1n, metadata: { correlationId: "c" } };
  let ends: readonly Recorded[] = [];
  let names: ReadonlyMap<string, string> = new Map();

  before(async () => {
    await at.commit({ ".forge-ci.yaml": twoStages }, "Add two stages [skip ci]");
    const { localId } = await at.start();
    const { id: pipelineId } = await db("pipeline")
      .where({ local_id: Number(localId) })
      .first("id");
    const rows = await db("pipeline_job").where({ pipeline_id: pipelineId }).orderBy("place");
    names = new Map(rows.map(({ id, name }) => [id, name]));
    ends = rows.slice(0, 3).map(({ id: jobId }, n) => ({
      ...jobEnd,
      id: `end-${n}`,
      data: { jobId, pipelineId },
    })) as unknown as Recorded[];
  });

  const end = (name: string) =>
    db("pipeline_job")
      .whereIn("id", [...names.keys()])
      .andWhere({ name })
      .update({ status: "SUCCESS" });
  const visible = async (): Promise<void> => undefined;
  const lookedAt = async (deps: object) => {
    const jobs = await pipelineAdvance.reactAll!(ends, { ...app.deps, ...deps } as never);
    return jobs.map(({ data }) => names.get(String(data["leftJobId"])));
  };

  it("is none while others of the stage go on, unless it frees a group", async () => {
    await end("one");
    await end("alone");
    expect(await lookedAt({ visible })).to.deep.equal(["two", "alone"]);
  });

  it("is each that read models do not show in time", async () => {
    const late = () => Promise.reject(new Error("late"));
    expect(await lookedAt({ visible: late })).to.deep.equal(["one", "two", "alone"]);
  });

  it("is each with the last of its stage", async () => {
    await end("two");
    expect(await lookedAt({ visible })).to.deep.equal(["one", "two", "alone"]);
  });
});
