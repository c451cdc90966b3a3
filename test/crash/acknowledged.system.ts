import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { readSettings } from "../../src/config.ts";
import { configOfRunning } from "../../src/embedded/service-file.ts";
import { openEventStore } from "../../src/platform/event-store/eventstoredb.ts";
import { openPostgres } from "../../src/platform/postgres.ts";
import { sender } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { type Service, startService } from "../support/app/service.ts";

const password = "a password for the crash test";
const basic = basicAuth("admin", password);
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
    const lasting = await newToken("lasting");
    const alias = await newProject(lasting);
    const project = (token: string) => send("GET", `/project/admin/${alias}`, { token });
    let [token, title] = ["", ""];
    let seen: readonly number[] = [];
    // Whatever waits for the disk in time takes with it what does not: then nothing was lost.
    for (let turn = 1; seen.length === 0 && turn <= 5; turn += 1) {
      [token, title] = [await newToken(`revoked-${turn}`), `Changed ${turn}`];
      expect((await project(token)).status).to.equal(200);

      const at = `/user/settings/access-token/revoked-${turn}`;
      expect((await send("DELETE", at, { token: lasting })).status).to.equal(200);
      const setting = `/project/admin/${alias}/setting/change-setting`;
      const changed = await send("PUT", setting, { token: lasting, body: { title } });
      expect(changed.status).to.equal(200);

      const queries = [() => project(token), () => project(lasting), () => newTokenAnswer("x")];
      seen = await whileReadModelsStandStill(queries);
      await eventually(async () => (await project(lasting)).status === 200, recoveryMs);
    }
    expect(new Set(seen)).to.deep.equal(new Set([503]));
    expect((await project(token)).status).to.equal(403);
    expect((await project(lasting)).body).to.include({ title });
  });

  /**
   * Kills PostgreSQL and queries three times, while the read models stay as it recovers them.
   *
   * @returns the statuses; none when the read models have lost nothing
   */
  async function whileReadModelsStandStill(
    queries: readonly (() => ReturnType<typeof send>)[],
  ): Promise<readonly number[]> {
    const projections = await service.pidOf("projections");
    process.kill(projections, "SIGSTOP");
    try {
      const before = await service.pidOf("postgres");
      process.kill(before, "SIGKILL");
      await eventually(async () => (await service.pidOf("postgres")) !== before, recoveryMs);
      const isBehind = await eventually(readModelsBehind, recoveryMs);
      const seen: number[] = [];
      for (let turn = 0; isBehind === "behind" && turn < 3; turn += 1) {
        for (const query of queries) seen.push((await query()).status);
      }
      return seen;
    } finally {
      process.kill(projections, "SIGCONT");
    }
  }

  /** Commits that do not wait for the disk are lost nearly for certain, not by chance. */
  async function flushSeldom(): Promise<void> {
    const config = await configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
    const db = openPostgres(config.databaseUrl, { poolMax: 1 });
    await db.raw("alter system set wal_writer_delay = '10s'");
    await db.raw("alter system set wal_writer_flush_after = '1GB'");
    await db.raw("select pg_reload_conf()");
    await db.destroy();
  }

  /** Once both stores answer. */
  async function readModelsBehind(): Promise<"behind" | "whole"> {
    const config = await configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
    const db = openPostgres(config.databaseUrl, { poolMax: 1 });
    const store = openEventStore(config.eventStoreUrl);
    try {
      const [least] = await db("projection_progress").where({ state: "live" }).min("position");
      return BigInt(least?.["min"]) < (await store.head())! ? "behind" : "whole";
    } finally {
      await store.close();
      await db.destroy();
    }
  }

  function newTokenAnswer(name: string) {
    const body = { name, scopes: ["USER_WRITE", "PROJECT_WRITE", "PROJECT_EDIT"] };
    return send("POST", create, { headers: { authorization: basic }, body });
  }

  const newToken = async (name: string): Promise<string> =>
    String((await newTokenAnswer(name)).body["token"]);

  async function newProject(token: string): Promise<string> {
    const body = { title: "Before", alias: "kept", isPrivate: true, ownerAlias: "admin" };
    const made = await send("POST", "/project", { token, body });
    expect(made.status, made.text).to.equal(200);
    return "kept";
  }
});
