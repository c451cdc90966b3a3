import { expect } from "chai";
import type { Knex } from "knex";
import { allOf, joinWrites } from "../../../src/platform/postgres/pipelined.ts";
import { openPostgres } from "../../../src/platform/postgres.ts";
import { testDatabase } from "../../support/store/database.ts";

type Stream = Record<"_write" | "_writev", (...given: unknown[]) => void>;
type Raw = Readonly<{ connection: Readonly<{ stream: Stream }> }>;

describe("statements that are sent together", () => {
  let db: Knex;
  let url: string;
  /** How often the only connection wrote to its socket. */
  let writes = 0;

  before(async () => {
    ({ url } = await testDatabase());
    db = openPostgres(url, { poolMax: 1 });
    await db.raw("create table thing (id int primary key)");
    const raw = (await db.client.acquireConnection()) as Raw;
    const { stream } = raw.connection;
    for (const name of ["_write", "_writev"] as const) {
      const write = stream[name].bind(stream);
      stream[name] = (...given) => {
        writes += 1;
        write(...given);
      };
    }
    await db.client.releaseConnection(raw);
  });
  beforeEach(async () => {
    await db("thing").delete();
    writes = 0;
  });
  after(() => db.destroy());

  const ids = async () => (await db("thing").orderBy("id").pluck("id")) as number[];

  it("take one write, those that read with the BEGIN of their transaction", async () => {
    await db.transaction(async (tx) => {
      await Promise.all([1, 2].map((id) => tx("thing").where({ id }).first()));
      expect(writes).to.equal(1);
      await Promise.all([1, 2, 3].map((id) => tx("thing").insert({ id })));
      expect(writes).to.equal(2);
    });
    expect(writes).to.equal(3);
    expect(await ids()).to.deep.equal([1, 2, 3]);
  });

  it("run in the order in which they are begun, of whichever form they are", async () => {
    await db.transaction(async (tx) => {
      const put = () => tx("thing").insert({ id: 1 });
      const removed = () => tx.raw("delete from thing where id = ?", [1]);
      const removedByKey = () => tx("thing").whereIn("id", [1]).delete();
      const turns = Array.from({ length: 20 }, () => [put(), removed(), put(), removedByKey()]);
      await allOf([...turns.flat(), put()]);
    });
    expect(await ids()).to.deep.equal([1]);
  });

  it("are all taken back when one of them fails, whose error is reported", async () => {
    const failed = db.transaction(async (tx) => {
      await Promise.all([4, 4, 5].map((id) => tx("thing").insert({ id })));
    });
    const error = await failed.then(
      () => undefined,
      (reason) => reason,
    );
    expect(error?.code).to.equal("23505");
    expect(await ids()).to.deep.equal([]);
  });

  it("fail in a session that is lost, and the next transaction gets another session", async () => {
    const failed = db.transaction(async (tx) => {
      await tx.raw("select pg_terminate_backend(pg_backend_pid())");
    });
    const error = await failed.then(
      () => undefined,
      (reason) => reason,
    );
    expect(error).to.be.instanceOf(Error);
    await db.transaction((tx) => tx("thing").insert({ id: 6 }));
    expect(await ids()).to.deep.equal([6]);
  });

  it("that write wait for the answer to BEGIN, and are not sent when it fails", async () => {
    const sent: { text: string; done: (error: Error | null) => void }[] = [];
    const destroyed: unknown[] = [];
    const stream = {
      cork: () => {},
      uncork: () => {},
      destroy: (error: Error) => destroyed.push(error),
    };
    const query = (text: string, _values: unknown[], done: (error: Error | null) => void) => {
      sent.push({ text, done });
    };
    const client = { query, connection: { stream } };
    joinWrites(client as never);
    const texts = () => sent.splice(0).map(({ text }) => text);
    const statements = ["select 1", "insert 1", "select 2"];
    const begin = () => {
      for (const text of ["BEGIN;", ...statements]) client.query(text, [], () => {});
    };

    begin();
    const [{ done }] = sent as [(typeof sent)[0]];
    expect(texts()).to.deep.equal(["BEGIN;", "select 1"]);
    done(null);
    expect(texts()).to.deep.equal(["insert 1", "select 2"]);

    begin();
    const error = new Error("canceled");
    const [failed] = sent.splice(0);
    failed?.done(error);
    expect(destroyed).to.deep.equal([error]);
  });

  it("leave nothing behind when their BEGIN is canceled", async () => {
    const other = openPostgres(url, { poolMax: 1 });
    const { rows } = await db.raw<{ rows: [{ pid: number }] }>("select pg_backend_pid() as pid");
    let isOver = false;
    const cancel = async (): Promise<void> => {
      while (!isOver) await other.raw("select pg_cancel_backend(?)", [rows[0].pid]);
    };
    const canceling = cancel();
    const failure = new Error("taken back");
    for (let turn = 0; turn < 300; turn += 1) {
      await db
        .transaction(async (tx) => {
          await allOf([tx("thing").insert({ id: turn }), tx("thing").insert({ id: -turn - 1 })]);
          throw failure;
        })
        .catch(() => undefined);
    }
    isOver = true;
    await canceling;
    await other.destroy();
    expect(
      await db("thing")
        .pluck("id")
        .catch(() => db("thing").pluck("id")),
    ).to.deep.equal([]);
  });
});
