import { expect } from "chai";
import type { Knex } from "knex";
import { allOf, joinWrites } from "../../../src/platform/postgres/pipelined.ts";
import { openPostgres } from "../../../src/platform/postgres.ts";
import { testDatabase } from "../../support/database.ts";

type Stream = Record<"_write" | "_writev", (...given: unknown[]) => void>;
type Raw = Readonly<{ connection: Readonly<{ stream: Stream }> }>;

describe("statements that are sent together", () => {
  let db: Knex;
  /** How often the only connection wrote to its socket. */
  let writes = 0;

  before(async () => {
    const { url } = await testDatabase();
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

  it("take one write, with the BEGIN of their transaction", async () => {
    await db.transaction(async (tx) => {
      await Promise.all([1, 2, 3].map((id) => tx("thing").insert({ id })));
      expect(writes).to.equal(1);
    });
    expect(writes).to.equal(2);
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

  it("end with their connection when BEGIN fails, so that none is answered outside of a transaction", () => {
    const destroyed: unknown[] = [];
    const sent: ((error: Error | null) => void)[] = [];
    const stream = {
      cork: () => {},
      uncork: () => {},
      destroy: (error: Error) => destroyed.push(error),
    };
    const query = (_text: string, _values: unknown[], done: (error: Error | null) => void) =>
      sent.push(done);
    const client = { query, connection: { stream } };
    joinWrites(client as never);
    client.query("BEGIN;", [], () => {});
    sent[0]?.(null);
    expect(destroyed).to.deep.equal([]);
    client.query("BEGIN;", [], () => {});
    const error = new Error("canceled");
    sent[1]?.(error);
    expect(destroyed).to.deep.equal([error]);
  });
});
