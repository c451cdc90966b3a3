import { expect } from "chai";

import { queuedJobs } from "../../../src/projections/pipeline/queue.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const { db } = app.deps;
const file = { ".forge-ci.yaml": "build: {script: make}" };

async function queuedIn(alias: string): Promise<string> {
  const project = await app.givenProject(anna, alias);
  const at = pipelinesOf(app, anna, project);
  await at.commit(file, "Add [skip ci]");
  await at.start();
  return project.id;
}

describe("the queue of jobs", () => {
  it("gives the turn to a project behind more jobs of another one than are compared", async () => {
    const [many, few] = [await queuedIn("many"), await queuedIn("few")];
    const copies = await db.raw(
      `insert into pipeline_job
       select (jsonb_populate_record(job, jsonb_build_object('id', gen_random_uuid()))).*
       from pipeline_job as job, generate_series(1, 1200) where job.project_id = ? returning id`,
      [many],
    );
    await db.raw(
      `insert into pipeline_job_spec
       select (jsonb_populate_record(plan, jsonb_build_object('job_id', given.id))).*
       from pipeline_job_spec as plan, unnest(?::uuid[]) as given (id) where plan.project_id = ?`,
      [copies.rows.map(({ id }: { id: string }) => id), many],
    );
    const found = await queuedJobs(db, { tags: [], runUntagged: true, limit: 3 });
    expect(found.map(({ job }) => job.project_id)).to.deep.equal([many, few, many]);
    const of = { tags: [], runUntagged: true, limit: 3 };
    const own = await queuedJobs(db, { ...of, projectIds: [many] });
    expect(own.map(({ job }) => job.project_id)).to.deep.equal([many, many, many]);
    const rest = found.filter(({ job }) => job.project_id === few).map(({ job }) => job.id);
    const without = await queuedJobs(db, { ...of, except: rest });
    expect(without.map(({ job }) => job.project_id)).to.deep.equal([many, many, many]);
  });
});
