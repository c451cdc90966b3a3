import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { readSettings } from "../../src/config.ts";
import { configOfRunning } from "../../src/embedded/service-file.ts";
import { openEventStore } from "../../src/platform/event-store/eventstoredb.ts";
import { openPostgres } from "../../src/platform/postgres.ts";
import { sender } from "../support/app.ts";
import { eventually } from "../support/eventually.ts";
import { type Service, startService } from "../support/service.ts";

const password = "a password for the crash test";
const basic = `Basic ${Buffer.from(`admin:${password}`).toString("base64")}`;
const create = "/user/settings/access-token/create";
const recoveryMs = 120_000;

describe("what was acknowledged before PostgreSQL is killed", function () {
  this.timeout(600_000);

  let root: string;
  let service: Service;
  let send: ReturnType<typeof sender>;

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-acknowledged-"));
    service = await startService(path.join(root, "data"), { ADMIN_PASSWORD: password });
    send = sender(service.url);
    await flushSeldom();
  });
  after(async () => {
    await service.stop();
    await rm(root, { recursive: true, force: true });
  });

  it("holds at once: a revoked token opens nothing, and nothing reads as it was before", async () => {
    const token = await newToken("revoked");
    const lasting = await newToken("lasting");
    const alias = await newProject(lasting);
    const project = (asking: string) => send("GET", `/project/admin/${alias}`, { token: asking });
    expect((await project(token)).status).to.equal(200);

    const at = "/user/settings/access-token/revoked";
    expect((await send("DELETE", at, { token: lasting })).status).to.equal(200);
    const body = { title: "Changed" };
    const setting = `/project/admin/${alias}/setting/change-setting`;
    expect((await send("PUT", setting, { token: lasting, body })).status).to.equal(200);

    const projections = await service.pidOf("projections");
    // Read models stay as PostgreSQL recovers them until this process goes on.
    process.kill(projections, "SIGSTOP");
    const seen: number[] = [];
    try {
      const before = await service.pidOf("postgres");
      process.kill(before, "SIGKILL");
      await eventually(async () => (await service.pidOf("postgres")) !== before, recoveryMs);
      await eventually(storesAnswer, recoveryMs);
      for (let asked = 0; asked < 3; asked += 1) {
        seen.push((await project(token)).status, (await project(lasting)).status);
        seen.push((await send("POST", create, { headers: { authorization: basic }, body })).status);
      }
    } finally {
      process.kill(projections, "SIGCONT");
    }
    expect(new Set(seen)).to.deep.equal(new Set([503]));
    await eventually(async () => (await project(lasting)).status === 200, recoveryMs);
    expect((await project(token)).status).to.equal(403);
    expect((await project(lasting)).body).to.include({ title: "Changed" });
  });

  /** Commits that do not wait for the disk are lost for certain, not by chance. */
  async function flushSeldom(): Promise<void> {
    const config = await configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
    const db = openPostgres(config.databaseUrl, { poolMax: 1 });
    await db.raw("alter system set wal_writer_delay = '10s'");
    await db.raw("alter system set wal_writer_flush_after = '1GB'");
    await db.raw("select pg_reload_conf()");
    await db.destroy();
  }

  async function storesAnswer(): Promise<boolean> {
    const config = await configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
    const db = openPostgres(config.databaseUrl, { poolMax: 1 });
    const store = openEventStore(config.eventStoreUrl);
    try {
      await db.raw("select 1");
      return (await store.head()) !== undefined;
    } finally {
      await store.close();
      await db.destroy();
    }
  }

  async function newToken(name: string): Promise<string> {
    const body = { name, scopes: ["USER_WRITE", "PROJECT_WRITE", "PROJECT_EDIT"] };
    const headers = { authorization: basic };
    const made = await send("POST", create, { headers, body });
    return String(made.body["token"]);
  }

  async function newProject(token: string): Promise<string> {
    const body = { title: "Before", alias: "kept", isPrivate: true, ownerAlias: "admin" };
    const made = await send("POST", "/project", { token, body });
    expect(made.status, made.text).to.equal(200);
    return "kept";
  }
});
