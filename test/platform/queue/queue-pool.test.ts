import { expect } from "chai";
import pino from "pino";

import { openQueues, type Queues, type RunningWorker } from "../../../src/platform/queue/queue.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

describe("the connections of the queues on PostgreSQL", () => {
  const names = Array.from({ length: 12 }, (_, n) => `queue-${n}`);
  const done: string[] = [];
  let db: Awaited<ReturnType<typeof testDatabase>>["db"];
  let queues: Queues;
  let workers: RunningWorker[];

  before(async () => {
    const database = await testDatabase();
    db = database.db;
    queues = await openQueues({ databaseUrl: database.url, log: pino({ level: "silent" }) });
    const run = async (data: unknown) => void done.push((data as { id: string }).id);
    workers = await Promise.all(names.map((queue) => queues.work({ queue, concurrency: 2, run })));
  });
  after(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await queues.close();
  });

  async function addAndWait(id: string): Promise<void> {
    await queues.add(names.map((queue) => ({ queue, id: `${id}-${queue}`, data: { id } })));
    await eventually(() => done.filter((each) => each === id).length === names.length);
  }

  const sessions = (purpose: string) =>
    db("pg_stat_activity")
      .whereRaw("datname = current_database()")
      .where({ application_name: purpose })
      .pluck<number[]>("pid");

  it("are few, and one listens for all workers", async () => {
    await addAndWait("first");
    await addAndWait("second");
    expect((await sessions("queues")).length).to.be.within(1, 6);
    expect(await sessions("queue listener")).to.have.length(1);
  });

  it("are opened again when they are lost, and no job is", async () => {
    const lost = [...(await sessions("queues")), ...(await sessions("queue listener"))];
    await db.raw("select pg_terminate_backend(pid) from unnest(?::int[]) as pid", [lost]);
    await eventually(async () =>
      (await sessions("queue listener")).some((pid) => !lost.includes(pid)),
    );
    await addAndWait("after the loss");
  });

  it("are notified of a job that another process adds", async () => {
    await eventually(async () => (await sessions("queue listener")).length === 1);
    const [listener] = await sessions("queue listener");
    const other = await openQueues({
      databaseUrl: String(db.client.config.connection.connectionString),
      log: pino({ level: "silent" }),
    });
    await other.add([{ queue: "queue-0", id: "other", data: { id: "other" } }]);
    // Workers look again by themselves only after an hour.
    await eventually(() => done.includes("other"));
    await other.close();
    expect(await sessions("queue listener")).to.deep.equal([listener]);
  });
});
