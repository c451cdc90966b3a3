import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { createIssue } from "../src/commands/issue/create-issue.ts";
import { startPostgres } from "../src/embedded/postgres/server.ts";
import { ProjectId, UserId } from "../src/events/core/ids.ts";
import { IssueId } from "../src/events/issue/issue.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { spawnEventStore } from "../test/support/event-store-child.ts";
import { metadataFor } from "../test/support/history.ts";
import { newStream } from "../test/support/test-event.ts";
import { figure } from "./figure.ts";

/**
 * Issues a second that 32 writers create in one project, numbers included, against events of the same
 * size a second that 32 writers append to streams of their own. Both wait for the disk.
 */
const writers = 32;
const measureMs = 3_000;
const now = () => new Date().toISOString();
const by = UserId.parse(randomUUID());
const details = {
  title: "Search finds nothing",
  description: "x".repeat(500),
  status: "OPEN",
  assigneeIds: [],
  labelIds: [],
} as const;

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir });
const server = await spawnEventStore(postgres.url);
const stores = [openEventStore(server.url), openEventStore(server.url)] as const;
try {
  await run(append, 500);
  await run(creating(1), 500);
  for (const processes of [1, 2] as const) {
    const appended = await run(append, measureMs);
    const created = await run(creating(processes), measureMs);
    const baseline = { name: "append to own streams", value: appended };
    figure(`create in one project, ${processes} process(es)`, "1/s", created, baseline);
  }
} finally {
  await Promise.all(stores.map((store) => store.close()));
  await server.kill();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
}

function append(): Promise<unknown> {
  const id = randomUUID();
  const data = { issueId: id, projectId: id, ...details, createdById: by, createdAt: now() };
  const event = { type: "IssueCreated", id, data, metadata: metadataFor(id) };
  return stores[0].append(newStream(), "none", [event]);
}

/** Each connection to the store has numbers of its own in memory, as a process has. */
function creating(processes: 1 | 2) {
  const projectId = ProjectId.parse(randomUUID());
  return (writer: number): Promise<unknown> => {
    const store = stores[writer % processes] ?? stores[0];
    const issueId = IssueId.parse(randomUUID());
    const command = { type: "CreateIssue", issueId, details, projectId, by, at: now() } as const;
    return createIssue({ store, now }, command, metadataFor(issueId), true);
  };
}

/** How often a second so many writers, each waiting for its own answer, got one. */
async function run(write: (writer: number) => Promise<unknown>, durationMs: number) {
  const startedAt = performance.now();
  let count = 0;
  const writing = Array.from({ length: writers }, async (_, writer) => {
    while (performance.now() - startedAt < durationMs) {
      await write(writer);
      count += 1;
    }
  });
  await Promise.all(writing);
  return (count * 1_000) / (performance.now() - startedAt);
}
