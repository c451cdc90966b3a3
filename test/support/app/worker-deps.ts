import pino from "pino";

import { handle } from "../../../src/commands/core/handle.ts";
import { project } from "../../../src/commands/project/project.ts";
import { user } from "../../../src/commands/user/user.ts";
import { Alias, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import { openGit } from "../../../src/git/repositories.ts";
import { openBlobs } from "../../../src/platform/blob/open.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import { openOutboundHttp } from "../../../src/platform/outbound/http.ts";
import { openOutboundProxy } from "../../../src/platform/outbound/proxy.ts";
import { openQueues } from "../../../src/platform/queue/queue.ts";
import { allProjections } from "../../../src/projections/all.ts";
import { runProjections } from "../../../src/projections/core/runner.ts";
import { watchProjections } from "../../../src/projections/progress/visible.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { temporaryDirectory } from "../git/git.ts";
import { testDatabase } from "../store/database.ts";
import { openTestEventStore } from "../store/event-store.ts";
import { at, metadataFor } from "./history.ts";
import { limits } from "./limits.ts";

export type TestWorkers = Readonly<{
  deps: WorkerDeps;
  databaseUrl: string;
  eventStoreUrl: string;
  dataDir: string;
  /** Time as the workers see it. */
  clock: { now: Date };
  /** Lines of the log. */
  log: string[];
}>;

/**
 * Everything workers work with, for the calling file: stores, queues and running projections, on a
 * database of their own. Outbound requests may reach this machine.
 */
export async function testWorkers(): Promise<TestWorkers> {
  const closing: (() => Promise<unknown>)[] = [];
  // Registered before the hooks of the stores, which these need until they are closed.
  after(async () => {
    for (const close of closing.reverse()) await close();
  });
  const { url: databaseUrl, db } = await testDatabase("app");
  const { store, url: eventStoreUrl, close: closeStore } = await openTestEventStore(databaseUrl);
  closing.push(closeStore);
  const dataDir = await temporaryDirectory();
  const log: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => log.push(line) });
  const vault = openVault(db, "a secret key of the tests, long enough");
  const git = openGit({ dataDir, log: logger });
  closing.push(git.close);
  const queues = await openQueues({ databaseUrl, log: logger });
  closing.push(queues.close);

  const stop = new AbortController();
  const context = { open: vault.open };
  const projections = allProjections;
  const running = runProjections(
    { databaseUrl, db, store, projections, context, log: logger },
    stop.signal,
  );
  closing.push(() => {
    stop.abort();
    return running;
  });
  const watching = await watchProjections({ databaseUrl, db, waitMaxMs: 20_000 });
  closing.push(watching.close);

  const allow = parseOutboundAllow(["127.0.0.1/32"]);
  const proxy = openOutboundProxy({ allow });
  closing.push(proxy.close);
  const clock = { now: new Date(at) };
  const deps: WorkerDeps = {
    store,
    db,
    vault,
    blobs: await openBlobs({ dataDir }, db),
    git,
    queues,
    outbound: openOutboundHttp({ allow }),
    proxy,
    config: limits,
    visible: watching.visible,
    now: () => clock.now,
    log: logger,
    publicUrl: "https://forge.example",
  };
  return { deps, databaseUrl, eventStoreUrl, dataDir, clock, log };
}

export type TestProject = Readonly<{ projectId: ProjectId; userId: UserId }>;

/** A user and a project of theirs, written by commands and visible. */
export async function givenProject(deps: WorkerDeps, name: string): Promise<TestProject> {
  const userId = UserId.parse(deterministicId("user", name));
  const projectId = ProjectId.parse(deterministicId("project", name));
  await handle(deps.store, user, {
    id: userId,
    command: {
      type: "RegisterUser",
      userId,
      alias: Alias.parse(`user-${name}`),
      email: Sealed.parse(await deps.vault.seal(`user-${userId}`, `${name}@example.test`)),
      emailDigest: name,
      passwordHash: await deps.vault.seal(`user-${userId}`, "none"),
      admin: false,
      confirmed: true,
      at,
    },
    metadata: metadataFor(deterministicId("register", name)),
  });
  const { position } = await handle(deps.store, project, {
    id: projectId,
    command: {
      type: "CreateProject",
      projectId,
      ownerId: userId,
      ownerType: "USER",
      alias: Alias.parse(name),
      title: `Project ${name}`,
      description: null,
      language: "TypeScript",
      private: true,
      defaultBranch: "main",
      by: userId,
      at,
    },
    metadata: metadataFor(deterministicId("create", name)),
  });
  await deps.visible(position);
  return { projectId, userId };
}
