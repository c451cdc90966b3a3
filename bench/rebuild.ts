import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { EventStoreDBClient } from "@eventstore/db-client";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import type { AnyEvent } from "../src/events/core/event.ts";
import { userSubject } from "../src/events/user/user.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { openVault } from "../src/platform/key/vault.ts";
import { migrate } from "../src/platform/migrate.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { allProjections } from "../src/projections/all.ts";
import { rebuild } from "../src/projections/core/rebuild.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { spawnEventStore } from "../test/support/process/event-store-child.ts";
import { median, timed } from "./figure.ts";

/**
 * Rebuilds all read models from a log of people, projects and pushes, and holds it against reading
 * the same log and doing nothing with it, by the official client and in pages as a rebuild reads it: each once before it
 * counts, then in turn, the median of three.
 * `node --import tsx bench/rebuild.ts [people] [pushes of each]`: with few pushes it shows what people and projects take.
 */
const people = Number(process.argv[2] ?? 200);
const pushesPerPerson = Number(process.argv[3] ?? 100);
const rounds = 3;

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir, durable: false });
const server = await spawnEventStore(postgres.url);
const db = openPostgres(postgres.url);
await migrate(db);
const store = openEventStore(server.url);
const client = EventStoreDBClient.connectionString(server.url);
const vault = openVault(db, "a secret key of more than enough characters");
try {
  for (let person = 0; person < people; person += 1) await write(person);
  const silent = (): void => undefined;
  const deps = {
    databaseUrl: postgres.url,
    db,
    store,
    projections: allProjections,
    context: { open: vault.open },
    log: { info: silent, warn: silent, error: silent },
  };
  const { signal } = new AbortController();
  let events = 0;
  const read = async (): Promise<void> => {
    events = 0;
    for await (const _ of store.readAll()) events += 1;
  };
  const readByClient = async (): Promise<void> => {
    for await (const _ of client.readAll());
  };
  const names = [[], ["audit_entry"], ["git_ref"], ["log_chain"], ["user", "project"]];
  for (const named of names) {
    const some = allProjections.filter(({ name }) => named.length === 0 || named.includes(name));
    await measure(named.join(" and ") || `all ${some.length} read models`, () =>
      rebuild(deps, some, { signal }),
    );
  }

  async function measure(what: string, build: () => Promise<unknown>): Promise<void> {
    const reads: number[] = [];
    const clientReads: number[] = [];
    const builds: number[] = [];
    const processors: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const clientMs = await timed(readByClient);
      const readMs = await timed(read);
      const before = process.cpuUsage();
      const buildMs = await timed(build);
      const { user, system } = process.cpuUsage(before);
      if (round === 0) continue;
      clientReads.push((events * 1_000) / clientMs);
      reads.push((events * 1_000) / readMs);
      builds.push((events * 1_000) / buildMs);
      processors.push((user + system) / events);
    }
    const built = median(builds);
    const against = (name: string, all: readonly number[]): string =>
      `${name}: ${Math.round(median(all))} events/s, ratio ${(built / median(all)).toFixed(2)}; `;
    process.stdout.write(
      `rebuild ${what}: ${Math.round(built)} events/s of ${events}; ` +
        against("reading by the official client", clientReads) +
        against("reading in pages", reads) +
        `processor of this process: ${Math.round(median(processors))} µs an event\n`,
    );
  }
} finally {
  await store.close();
  await client.dispose();
  await server.kill();
  await db.destroy();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
}

/** A person with a project and a branch that is pushed to. */
async function write(person: number): Promise<void> {
  const at = "2026-01-02T03:04:05.678Z";
  const [userId, projectId] = [randomUUID(), randomUUID()];
  const ip = await vault.seal(userSubject(userId), "192.0.2.7");
  const actor = { userId, alias: `user-${person}`, via: "token", tokenId: null } as const;
  const append = async (stream: string, ...events: AnyEvent[]): Promise<void> => {
    const created = events.map((event) => {
      const id = randomUUID();
      return { ...event, id, metadata: metadataFor(id, { actor, ip }) };
    });
    await store.append(stream, "none", created);
  };
  await append(`user-${userId}`, {
    type: "UserRegistered",
    data: {
      userId,
      alias: `user-${person}`,
      email: await vault.seal(userSubject(userId), `user-${person}@example.org`),
      emailDigest: randomUUID(),
      passwordHash: null,
      admin: false,
      confirmed: true,
      registeredAt: at,
    },
  });
  await append(`project-${projectId}`, {
    type: "ProjectCreated",
    data: {
      projectId,
      ownerId: userId,
      ownerType: "USER",
      alias: "search",
      title: "Search",
      description: null,
      language: null,
      private: false,
      defaultBranch: "main",
      createdById: userId,
      createdAt: at,
    },
  });
  const push = (n: number): AnyEvent => ({
    type: "BranchUpdated",
    data: {
      branch: "main",
      before: n.toString(16).padStart(40, "0"),
      after: (n + 1).toString(16).padStart(40, "0"),
      forced: false,
      changedById: userId,
      changedAt: at,
    },
  });
  await append(
    `repository-${projectId}`,
    ...Array.from({ length: pushesPerPerson }, (_, n) => push(n)),
  );
}
