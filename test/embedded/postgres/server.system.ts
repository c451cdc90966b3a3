import type { ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { startPostgres } from "../../../src/embedded/postgres/server.ts";
import { until } from "../../../src/embedded/process.ts";
import { connectPostgres } from "../../../src/platform/postgres.ts";
import { eventually } from "../../support/app/eventually.ts";
import { forkProgram, isRunning, killHard, processes } from "../../support/process/process.ts";

type Started = { url: string; pid: number };

const program = path.resolve("test/support/process/postgres-process.ts");
const goneMs = 60_000;

describe("the embedded PostgreSQL", () => {
  let dataDir: string;
  let starter: ChildProcess | undefined;

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), "lf-pg-"));
    const { url, close } = await startPostgres({ dataDir });
    await query(url, "create table kept (n int primary key)");
    await close();
  });
  afterEach(async () => {
    if (starter !== undefined) await killHard(starter);
    starter = undefined;
    // Whatever a test left running ends before the next one.
    const server = await startPostgres({ dataDir });
    await server.close();
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  async function startElsewhere(): Promise<Started> {
    const { child, message } = await forkProgram<Started>(program, [dataDir]);
    starter = child;
    return message;
  }

  it("answers, keeps its password to itself and ends when closed", async () => {
    const server = await startPostgres({ dataDir });
    try {
      expect(await query(server.url, "show max_connections")).to.deep.equal([
        { max_connections: "400" },
      ]);
      expect(await query(server.url, "show fsync")).to.deep.equal([{ fsync: "on" }]);
      const { mode } = await stat(path.join(dataDir, "pg-password"));
      expect(mode & 0o777).to.equal(0o600);
      expect((await stat(path.join(dataDir, "run"))).mode & 0o777).to.equal(0o700);
    } finally {
      await server.close();
    }
    expect(await isRunning(server.pid)).to.equal(false);
    expect(await log()).to.match(/database system is shut down\s*$/);
  });

  it("refuses a wrong password", async () => {
    const server = await startPostgres({ dataDir });
    const wrong = server.url.replace(/:[^:@]+@/, ":wrong@");
    try {
      await expect(connectPostgres(wrong)).to.be.rejectedWith(/password authentication failed/);
    } finally {
      await server.close();
    }
  });

  it("listens on loopback where the data directory is too deep for a socket", async () => {
    const deep = path.join(dataDir, "d".repeat(100));
    const server = await startPostgres({ dataDir: deep, durable: false });
    try {
      expect(new URL(server.url).hostname).to.equal("127.0.0.1");
      expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
    } finally {
      await server.close();
    }
  });

  it("shuts down cleanly when its starter is killed, and keeps what was committed", async () => {
    const { url, pid } = await startElsewhere();
    await query(url, "insert into kept values (1)");

    await killHard(starter!);

    expect(await until(async () => !(await isRunning(pid)), goneMs)).to.equal(true);
    expect(await log()).to.match(/database system is shut down\s*$/);
    const again = await startPostgres({ dataDir });
    expect(await query(again.url, "select n from kept")).to.deep.include({ n: 1 });
    await again.close();
  });

  it("replaces a server that outlived its starter and its watchdog", async () => {
    const { pid } = await startElsewhere();
    const watchdog = await eventually(async () =>
      (await processes()).find((row) => row.command.includes(`watchdog ${pid} `)),
    );
    process.kill(watchdog!.pid, "SIGKILL");
    await killHard(starter!);
    expect(await isRunning(pid)).to.equal(true);

    const again = await startPostgres({ dataDir });

    expect(await isRunning(pid)).to.equal(false);
    expect(again.pid).to.not.equal(pid);
    await again.close();
  });

  it("starts again at once after it was killed itself, with everything committed", async () => {
    const { url, pid } = await startElsewhere();
    await query(url, "insert into kept select generate_series(100, 1099)");
    process.kill(pid, "SIGKILL");

    const again = await startPostgres({ dataDir });

    const [row] = await query(again.url, "select count(*)::int as n from kept where n >= 100");
    expect(row).to.deep.equal({ n: 1000 });
    await again.close();
  });

  it("starts although the pid it once had belongs to another program now", async () => {
    const { pid } = await startElsewhere();
    process.kill(pid, "SIGKILL");
    expect(await until(async () => !(await isRunning(pid)), goneMs)).to.equal(true);
    const file = path.join(dataDir, "pg18", "postmaster.pid");
    await writeFile(file, (await readFile(file, "utf8")).replace(/^.*/, String(process.ppid)));
    await writeFile(path.join(dataDir, "run", ".s.PGSQL.5432.lock"), `${process.ppid}\n`);

    const again = await startPostgres({ dataDir });

    expect(await query(again.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
    await again.close();
  });

  it("begins anew where the making of the database was cut off", async () => {
    const fresh = path.join(dataDir, "fresh");
    await mkdir(path.join(fresh, "pg.init"), { recursive: true });
    await writeFile(path.join(fresh, "pg.init", "PG_VERSION"), "18\n");

    const server = await startPostgres({ dataDir: fresh, durable: false });

    await server.close();
    await expect(stat(path.join(fresh, "pg.init"))).to.be.rejectedWith(/ENOENT/);
  });

  it("says why it does not start, in the server's own words", async () => {
    const broken = path.join(dataDir, "broken");
    await (await startPostgres({ dataDir: broken, durable: false })).close();
    await rm(path.join(broken, "pg18", "global", "pg_control"));

    await expect(startPostgres({ dataDir: broken, durable: false })).to.be.rejectedWith(
      /did not start[\s\S]*could not find the database system/,
    );
  });

  function log(): Promise<string> {
    return readFile(path.join(dataDir, "log", "postgres.log"), "utf8");
  }
});

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = await connectPostgres(url);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
