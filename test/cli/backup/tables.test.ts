import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { putTables, tableLines } from "../../../src/cli/backup/tables.ts";
import { type AssignedRun, beginRun } from "../../../src/platform/job-log/store.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

async function linesOf(table: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of tableLines(db)) {
    if (line.startsWith(`{"table":"${table}",`)) lines.push(line);
  }
  return lines;
}

async function* given(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function givenRun(given_position = 1n, over: Partial<AssignedRun> = {}) {
  const of = { job_id: randomUUID(), project_id: randomUUID(), agent_id: randomUUID() };
  const run = { ...of, attempt: 1, token_hash: "hash", contact_at: new Date() };
  await beginRun(db, { ...run, given_position, ...over });
  return of.job_id;
}

describe("the tables of a backup", () => {
  it("are put back as they were", async () => {
    await givenRun();
    const lines = await linesOf("job_run");
    await db("public.job_run").delete();
    expect(await putTables(db, given(lines))).to.equal(1);
    const put = lines.map((line) =>
      line.replace('"given_position": 1,', '"given_position": null,'),
    );
    expect(await linesOf("job_run"))
      .to.deep.equal(put)
      .and.not.deep.equal(lines);
  });

  it("leave the order of runs to the log that they are put beside", async () => {
    await db("public.job_run").delete();
    const job_id = await givenRun(900n);
    const lines = await linesOf("job_run");
    await db("public.job_run").delete();
    await putTables(db, given(lines));
    // The backup ended before the event that gave the job, and the positions of this log are lower.
    await givenRun(20n, { job_id, token_hash: "anew" });
    const [run] = await db("public.job_run");
    expect(run).to.include({ job_id, token_hash: "anew", given_position: 20n });
  });

  it("get what a later release gives rows that were there before it", async () => {
    const job_id = await givenRun();
    const [line = ""] = (await linesOf("job_run")).filter((each) => each.includes(job_id));
    const { row } = JSON.parse(line);
    await db("public.job_run").delete();
    // As a release wrote them that had none of these columns, and one that there is no more.
    const { cancels_gracefully, confirmed_at, over_at, ...before } = row;
    const former = { table: "job_run", row: { ...before, left_out: 1 } };
    await putTables(db, given([JSON.stringify(former)]));
    const run = await db("public.job_run").first();
    expect(run).to.include({ job_id, cancels_gracefully: false, over_at: null });
    expect(run.confirmed_at).to.be.instanceOf(Date);
  });
});
