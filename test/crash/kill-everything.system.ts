import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { readSettings } from "../../src/config.ts";
import { configOfRunning } from "../../src/embedded/service-file.ts";
import type { Recorded } from "../../src/events/core/event.ts";
import { openEventStore } from "../../src/platform/event-store/eventstoredb.ts";
import { openVault } from "../../src/platform/key/vault.ts";
import { openPostgres } from "../../src/platform/postgres.ts";
import { allProjections } from "../../src/projections/all.ts";
import { rebuild } from "../../src/projections/core/rebuild.ts";
import type { Comparison } from "../../src/projections/core/verify.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { type Service, startService } from "../support/app/service.ts";
import { git } from "../support/git/git.ts";
import {
  type CreatedProject,
  type PushedBranch,
  startProjectWriter,
  startPusher,
  type Writer,
} from "../support/git/writers.ts";
import { freePort } from "../support/process/free-port.ts";

const victims = ["http", "projections", "workers", "event-store", "postgres", "supervisor"];
const writesBetweenKills = 2;
const recoveryMs = 180_000;
const adminPassword = "a password for the crash test";

describe("killing every process of the service in turn while it is written to", function () {
  this.timeout(1_200_000);

  let root: string;
  let service: Service;
  let port: string;
  let token: string;
  let projectWriters: readonly Writer<CreatedProject>[] = [];
  let pusher: Writer<PushedBranch> | undefined;
  let log: readonly Recorded[];
  let comparisons: readonly Comparison[];

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-crash-"));
    port = String(await freePort());
    await start();
    token = await createToken();
    await startWriting();
    for (const victim of victims) {
      await written(writesBetweenKills);
      await killHard(victim);
      await written(writesBetweenKills);
    }
    for (const writer of writers()) await writer.stop();
    await inspect();
  });
  after(async () => {
    for (const writer of writers()) writer.abandon();
    await service.stop();
    await rm(root, { recursive: true, force: true });
  });

  it("loses nothing that was acknowledged, and doubles nothing", () => {
    const acknowledged = created().map(({ id }) => id);
    expect(acknowledged).to.have.length.greaterThan(victims.length * writesBetweenKills);
    const recorded = dataOf("ProjectCreated").map(({ projectId }) => projectId);
    expect([...recorded].sort()).to.deep.equal([...acknowledged].sort());
  });

  it("records every acknowledged push once", () => {
    const recorded = dataOf("BranchCreated").map(({ branch, commitId }) => ({
      branch,
      commit: commitId,
    }));
    expect(recorded).to.have.length.greaterThan(victims.length);
    expect(recorded).to.deep.equal(pusher?.acknowledged);
    expect(dataOf("BranchUpdated")).to.deep.equal([]);
  });

  it("keeps one log: positions and ids never repeat", () => {
    const positions = log.map(({ position }) => position);
    expect(positions).to.deep.equal([...new Set(positions)].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(log.map(({ id }) => id)).size).to.equal(log.length);
  });

  it("shows what a replay from the start shows", () => {
    const names = allProjections.flatMap(({ tables }) => tables.map(({ name }) => name));
    expect(comparisons.map(({ table }) => table)).to.have.members(names);
    expect(comparisons.filter(({ equal }) => !equal)).to.deep.equal([]);
  });

  it("answers for every project and branch", async () => {
    for (const { alias, id } of created()) {
      expect(await get(`/project/admin/${alias}`)).to.include({ id, alias });
    }
    const { page } = (await get("/project/admin/pushed-1/branch?size=1")) as {
      page: { totalElements: number };
    };
    expect(page.totalElements).to.equal(pusher?.acknowledged.length);
  });

  it("is well", async () => {
    await eventually(async () => (await fetch(`${service.url}/health/ready`)).status === 200);
  });

  async function start(): Promise<void> {
    const environment = { PORT: port, ADMIN_PASSWORD: adminPassword };
    service = await startService(path.join(root, "data"), environment);
  }

  async function startWriting(): Promise<void> {
    const client = { url: service.url, token };
    const first = startProjectWriter(client, "pushed");
    await eventually(() => first.acknowledged.length > 0, recoveryMs);
    projectWriters = [first, startProjectWriter(client, "b"), startProjectWriter(client, "c")];
    const work = path.join(root, "work");
    await mkdir(work);
    await git(work, "init", "--quiet");
    const remote = `${service.url.replace("//", `//admin:${token}@`)}/project/admin/pushed-1.git`;
    pusher = startPusher(work, remote);
  }

  const writers = (): readonly Writer<unknown>[] =>
    pusher === undefined ? projectWriters : [...projectWriters, pusher];
  const created = () => projectWriters.flatMap(({ acknowledged }) => acknowledged);
  const dataOf = (type: string) =>
    log.filter((event) => event.type === type).map(({ data }) => data as Record<string, unknown>);

  /** Waits until every writer got so much further, which it does only while everything works. */
  async function written(count: number): Promise<void> {
    const all = writers();
    const goals = all.map(({ acknowledged }) => acknowledged.length + count);
    const reached = (): boolean =>
      all.every(({ acknowledged }, index) => acknowledged.length >= goals[index]!);
    await Promise.race([eventually(reached, recoveryMs), ...all.map(({ failed }) => failed)]);
  }

  async function killHard(victim: string): Promise<void> {
    process.kill(await eventually(() => service.pidOf(victim), recoveryMs), "SIGKILL");
    if (victim !== "supervisor") return;
    await service.exited;
    await start();
  }

  async function inspect(): Promise<void> {
    const config = await configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
    const store = openEventStore(config.eventStoreUrl);
    const db = openPostgres(config.databaseUrl);
    try {
      const expected = pusher?.acknowledged.length ?? 0;
      // A push whose answer got lost is recorded when the repository is next checked.
      await eventually(async () => {
        const events: Recorded[] = [];
        for await (const event of store.readAll()) events.push(event);
        log = events;
        return dataOf("BranchCreated").length >= expected;
      }, recoveryMs);
      const { open } = openVault(db, config.secretKey);
      const silent = () => undefined;
      const rebuilt = await rebuild(
        {
          databaseUrl: config.databaseUrl,
          db,
          store,
          projections: allProjections,
          context: { open },
          log: { info: silent, warn: silent, error: silent },
        },
        allProjections,
        { signal: AbortSignal.timeout(recoveryMs), verify: true },
      );
      comparisons = rebuilt?.comparisons ?? [];
    } finally {
      await store.close();
      await db.destroy();
    }
  }

  async function createToken(): Promise<string> {
    const response = await fetch(`${service.url}/user/settings/access-token/create`, {
      method: "POST",
      headers: {
        authorization: basicAuth("admin", adminPassword),
        "content-type": "application/json",
      },
      body: JSON.stringify({
        name: "crash test",
        scopes: ["USER_READ", "PROJECT_READ", "PROJECT_WRITE", "PROJECT_EDIT"],
      }),
    });
    return ((await response.json()) as { token: string }).token;
  }

  async function get(at: string): Promise<unknown> {
    const response = await fetch(service.url + at, {
      headers: { authorization: `token ${token}` },
    });
    return response.json();
  }
});
