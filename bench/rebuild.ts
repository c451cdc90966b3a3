import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import type { AnyEvent } from "../src/events/core/event.ts";
import { userSubject } from "../src/events/user/user.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { openVault } from "../src/platform/key/vault.ts";
import { migrate } from "../src/platform/migrate.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { allProjections } from "../src/projections/all.ts";
import { rebuild } from "../src/projections/core/rebuild.ts";
import { spawnEventStore } from "../test/support/event-store-child.ts";
import { metadataFor } from "../test/support/history.ts";

/**
 * Rebuilds all read models from a log of people, projects and pushes, and holds it against reading
 * the same log and doing nothing with it.
 */
const people = Number(process.argv[2] ?? 200);
const pushesPerPerson = 100;

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir, durable: false });
const server = await spawnEventStore(postgres.url);
const db = openPostgres(postgres.url);
await migrate(db);
const store = openEventStore(server.url);
const vault = openVault(db, "a secret key of more than enough characters");
try {
  for (let person = 0; person < people; person += 1) await write(person);
  const startedAt = performance.now();
  let events = 0;
  for await (const _ of store.readAll()) events += 1;
  const read = (events * 1_000) / (performance.now() - startedAt);

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
  const all = await rebuild(deps, allProjections, { signal });
  report(`all ${allProjections.length} read models`, all?.elapsedMs);
  for (const name of ["audit_entry", "git_ref", "log_chain"]) {
    const one = allProjections.filter((projection) => projection.name === name);
    report(name, (await rebuild(deps, one, { signal }))?.elapsedMs);
  }

  function report(what: string, elapsedMs = Number.NaN): void {
    const rebuilt = (events * 1_000) / elapsedMs;
    process.stdout.write(
      `rebuild ${what}: ${Math.round(rebuilt)} events/s of ${events}; ` +
        `reading alone: ${Math.round(read)} events/s; ratio ${(rebuilt / read).toFixed(2)}\n`,
    );
  }
} finally {
  await store.close();
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
