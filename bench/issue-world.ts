import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Knex } from "knex";

import type { ProposedEvent } from "../src/embedded/event-store/event.ts";
import { Writer } from "../src/embedded/event-store/writer.ts";
import { startPostgres } from "../src/embedded/postgres/server.ts";
import type { AnyEvent, Recorded } from "../src/events/core/event.ts";
import { ProjectId } from "../src/events/core/ids.ts";
import { type LocalId, type LocalIdKind, localIdStream } from "../src/events/core/local-id.ts";
import { issueStream } from "../src/events/issue/issue.ts";
import { issueCommentStream } from "../src/events/issue/issue-comment.ts";
import { mergeRequestStream } from "../src/events/merge-request/merge-request.ts";
import { deterministicId } from "../src/platform/deterministic-id.ts";
import type { EventStore } from "../src/platform/event-store/event-store.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { migrate } from "../src/platform/migrate.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { install } from "../src/projections/core/install.ts";
import { applyAfter } from "../src/projections/core/projection.ts";
import { issueProjection } from "../src/projections/issue/issue.ts";
import { issueCommentProjection } from "../src/projections/issue/issue-comment.ts";
import { mergeRequestProjection } from "../src/projections/merge-request/merge-request.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { spawnEventStore } from "../test/support/process/event-store-child.ts";

/** What one project has. */
const issuesPerProject = 100;
const commentsPerIssue = 3;
const mergeRequestsPerProject = 10;

export const people = Array.from({ length: 50 }, () => randomUUID());
/** A label is one of a project's: none is in two of them. */
export const labelsOf = (projectId: ProjectId): readonly string[] =>
  Array.from({ length: 10 }, (_, n) => deterministicId("label", projectId, n));
export const words = "search index login mirror release webhook label package".split(" ");
export const startOf2026 = Date.parse("2026-01-01T00:00:00.000Z");

/** Projects with issues, comments and merge requests, made through the log, on stores of their own. */
export type IssueWorld = Readonly<{
  db: Knex;
  projectIds: readonly ProjectId[];
  close: () => Promise<void>;
}>;

export async function makeIssueWorld(projectCount: number): Promise<IssueWorld> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
  const postgres = await startPostgres({ dataDir, durable: false });
  const projectIds = Array.from({ length: projectCount }, () => ProjectId.parse(randomUUID()));
  const startedAt = performance.now();
  await seed(postgres.url, projectIds);
  const seededAt = performance.now();
  const server = await spawnEventStore(postgres.url);
  const db = openPostgres(postgres.url);
  await migrate(db);
  const store = openEventStore(server.url);
  const events = await projectAll(db, store);
  await db.raw("vacuum analyze");
  const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(0);
  process.stdout.write(
    `${projectCount} projects, ${projectCount * issuesPerProject} issues, ${events} events: ` +
      `appended in ${seconds(startedAt, seededAt)} s, ` +
      `projected in ${seconds(seededAt, performance.now())} s\n`,
  );
  return {
    db,
    projectIds,
    async close() {
      await store.close();
      await server.kill();
      await db.destroy();
      await postgres.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** By the event store's own writer, without its protocol: most of the time would go into that. */
async function seed(databaseUrl: string, projectIds: readonly ProjectId[]): Promise<void> {
  const writer = new Writer({ databaseUrl, lockWaitMs: 10_000, onOutage: throwIt });
  await writer.open();
  const append: Append = async (stream, events) => {
    const work = { kind: "append", events: events.map(proposed) } as const;
    await writer.write({ stream, expected: "no_stream", work }, Number.POSITIVE_INFINITY);
  };
  const waiting = [...projectIds];
  const seedOneByOne = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      await seedProject(next, append);
    }
  };
  await Promise.all(Array.from({ length: 1_000 }, seedOneByOne));
  await writer.close();
}

/** Feeds the whole log to the read models of the lists. How many events it has. */
async function projectAll(db: Knex, store: EventStore): Promise<number> {
  const readModels = [issueProjection, issueCommentProjection, mergeRequestProjection];
  await db.transaction(async (tx) => {
    for (const readModel of readModels) await install(tx, readModel, "live");
  });
  let events = 0;
  const context = { open: async () => null };
  const applied = (all: readonly Recorded[]) =>
    db.transaction(async (tx) => {
      for (const readModel of readModels) await applyAfter(tx, readModel, -1n, all, context);
    });
  let batch: Recorded[] = [];
  for await (const event of store.readAll()) {
    batch.push(event);
    events += 1;
    if (batch.length < 1_000) continue;
    await applied(batch);
    batch = [];
  }
  await applied(batch);
  return events;
}

function throwIt(error: unknown): never {
  throw error;
}

function proposed({ type, data }: AnyEvent): ProposedEvent {
  const id = randomUUID();
  const [bytes, metadata] = [data, metadataFor(id)].map((part) =>
    Buffer.from(JSON.stringify(part)),
  );
  return { id, type, isJson: true, data: bytes ?? Buffer.of(), metadata: metadata ?? Buffer.of() };
}

function pick<Value>(values: readonly Value[], index: number): Value {
  return values[index % values.length] as Value;
}

type Append = (stream: string, events: readonly AnyEvent[]) => Promise<void>;

async function seedProject(projectId: ProjectId, append: Append): Promise<void> {
  const issues = await each(issuesPerProject, (n) => seedIssue(projectId, n, append));
  await append(localIdStream("ISSUE", projectId), numbered("ISSUE", projectId, issues));
  const requests = await each(mergeRequestsPerProject, (n) =>
    seedMergeRequest(projectId, n, append),
  );
  const kind = "MERGE_REQUEST";
  await append(localIdStream(kind, projectId), numbered(kind, projectId, requests));
}

/** What each number from 1 makes, one after the other. */
async function each(count: number, make: (n: number) => Promise<string>): Promise<string[]> {
  const made = [];
  for (let n = 1; n <= count; n += 1) made.push(await make(n));
  return made;
}

function numbered(kind: LocalIdKind, projectId: ProjectId, ids: readonly string[]): AnyEvent[] {
  return ids.map((subjectId, index) => {
    const localId = (index + 1) as LocalId;
    const data = { kind, projectId, localId, subjectId, assignedAt: minute(index + 1) };
    return { type: "LocalIdAssigned", data };
  });
}

async function seedIssue(projectId: ProjectId, n: number, append: Append): Promise<string> {
  const labels = labelsOf(projectId);
  const issueId = randomUUID();
  const data = {
    issueId,
    projectId,
    ...textOf(n),
    status: pick(["OPEN", "OPEN", "IN_PROGRESS", "CLOSED", "COMPLETED"], n),
    assigneeIds: [pick(people, n)],
    labelIds: [pick(labels, n), pick(labels, n + 1)],
    createdById: pick(people, n + 7),
    createdAt: minute(n),
  };
  await append(issueStream(issueId), [{ type: "IssueCreated", data }]);
  for (let comment = 0; comment < commentsPerIssue; comment += 1) {
    const issueCommentId = randomUUID();
    const message = `${pick(words, n + comment)} again`;
    const by = { createdById: pick(people, n), createdAt: minute(n) };
    const written = { issueCommentId, issueId, projectId, message, ...by };
    const stream = issueCommentStream(issueCommentId);
    await append(stream, [{ type: "IssueCommentCreated", data: written }]);
  }
  return issueId;
}

async function seedMergeRequest(projectId: ProjectId, n: number, append: Append): Promise<string> {
  const labels = labelsOf(projectId);
  const mergeRequestId = randomUUID();
  const data = {
    mergeRequestId,
    projectId,
    sourceProjectId: projectId,
    sourceBranch: `topic-${n}`,
    targetBranch: pick(["main", "main", "release"], n),
    sourceCommit: randomBytes(20).toString("hex"),
    details: {
      ...textOf(n),
      removeSourceBranch: true,
      squashCommit: false,
      workInProgress: n % 4 === 0,
      assignedUserIds: [pick(people, n)],
      reviewerIds: [pick(people, n + 3)],
      labelIds: [pick(labels, n), pick(labels, n + 1)],
    },
    openedById: pick(people, n + 7),
    openedAt: minute(n),
  };
  const closed = { closedById: pick(people, n), closedAt: minute(n + 1) };
  const events: AnyEvent[] = [{ type: "MergeRequestOpened", data }];
  if (n % 3 === 0) events.push({ type: "MergeRequestClosed", data: closed });
  await append(mergeRequestStream(mergeRequestId), events);
  return mergeRequestId;
}

const minute = (n: number): string => new Date(startOf2026 + n * 60_000).toISOString();

function textOf(n: number): Readonly<{ title: string; description: string }> {
  const text = Array.from({ length: 40 }, (_, word) => pick(words, n * 3 + word * word));
  return { title: `${pick(words, n)} ${pick(words, n + 3)} ${n}`, description: text.join(" ") };
}
