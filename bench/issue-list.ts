import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Knex } from "knex";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import type { AnyEvent, NewEvent } from "../src/events/core/event.ts";
import { ProjectId } from "../src/events/core/ids.ts";
import { type LocalId, localIdStream } from "../src/events/core/local-id.ts";
import { issueStream } from "../src/events/issue/issue.ts";
import { issueCommentStream } from "../src/events/issue/issue-comment.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { migrate } from "../src/platform/migrate.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { install } from "../src/projections/core/install.ts";
import { project } from "../src/projections/core/projection.ts";
import { issueProjection } from "../src/projections/issue/issue.ts";
import {
  issueCommentProjection,
  listIssueComments,
} from "../src/projections/issue/issue-comment.ts";
import { type IssueFilter, listIssues } from "../src/projections/issue/list.ts";
import { spawnEventStore } from "../test/support/event-store-child.ts";
import { metadataFor } from "../test/support/history.ts";
import { figure, quantile, timed } from "./figure.ts";

/**
 * The 99th percentile of issue lists on an instance, against the same on one of a hundredth of its
 * size, in the same run. Both are made through the log: 100 issues a project, 3 comments an issue. The
 * lists alternate between the two, so what disturbs the machine disturbs both.
 */
const issuesPerProject = 100;
const commentsPerIssue = 3;
const projects = Number(process.argv[2] ?? 200);
const queriesEach = Number(process.argv[3] ?? 1_000);
const people = Array.from({ length: 50 }, () => randomUUID());
const labels = Array.from({ length: 10 }, () => randomUUID());
const words = ["search", "index", "login", "mirror", "release", "webhook", "label", "package"];
const startOf2026 = Date.parse("2026-01-01T00:00:00.000Z");

type World = Readonly<{ db: Knex; projectIds: readonly ProjectId[]; close: () => Promise<void> }>;

const large = await makeWorld(projects);
const small = await makeWorld(Math.max(1, Math.round(projects / 100)));
try {
  for (const [name, filter] of Object.entries(filters())) {
    const times = { large: [] as number[], small: [] as number[] };
    for (let round = 0; round < queriesEach + 50; round += 1) {
      for (const [of, world] of [
        ["large", large],
        ["small", small],
      ] as const) {
        const ms = await timed(() => list(world, filter, round));
        // The first ones pay for connections and plans.
        if (round >= 50) times[of].push(ms);
      }
    }
    const baseline = { name: "of a hundredth", value: quantile(times.small, 0.99) };
    figure(`issues, ${name}, p99`, "ms", quantile(times.large, 0.99), baseline);
  }
} finally {
  await large.close();
  await small.close();
}

function filters(): Readonly<Record<string, (round: number) => Partial<IssueFilter>>> {
  return {
    all: () => ({}),
    "by status": () => ({ status: "OPEN" }),
    "by label": (round) => ({ labelIds: [labels[round % 10] ?? ""] }),
    "by two labels": (round) => ({
      labelIds: [labels[round % 10] ?? "", labels[(round + 1) % 10] ?? ""],
    }),
    "by assignee": (round) => ({ assigneeId: people[round % 50] }),
    "by author": (round) => ({ authorId: people[round % 50], sort: "updated" }),
    "by text": (round) => ({ q: `${words[round % 8]} ${words[(round + 3) % 8]}` }),
    "changed since": () => ({ updatedAfter: new Date(startOf2026 + 50 * 60_000), sort: "updated" }),
  };
}

async function list(
  { db, projectIds }: World,
  filter: (round: number) => Partial<IssueFilter>,
  round: number,
): Promise<void> {
  const projectId = projectIds[(round * 7_919) % projectIds.length];
  if (projectId === undefined) throw new Error("a world has projects");
  const wanted = { sort: "created", order: "desc", ...filter(round) } as const;
  const { rows } = await listIssues(db, projectId, wanted, { limit: 10, offset: 0 });
  const [first] = rows;
  if (first !== undefined && round % 4 === 0) {
    await listIssueComments(db, first.id, { limit: 10, offset: 0 });
  }
}

async function makeWorld(projectCount: number): Promise<World> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
  const postgres = await startPostgres({ dataDir, durable: false });
  const server = await spawnEventStore(postgres.url);
  const db = openPostgres(postgres.url);
  await migrate(db);
  const store = openEventStore(server.url);
  const projectIds = Array.from({ length: projectCount }, () => ProjectId.parse(randomUUID()));
  const append = async (stream: string, events: readonly AnyEvent[]): Promise<void> => {
    await store.append(stream, "none", events.map(written));
  };

  const startedAt = performance.now();
  const waiting = [...projectIds];
  const seed = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      await seedProject(next, append);
    }
  };
  await Promise.all(Array.from({ length: 64 }, seed));
  const seededAt = performance.now();
  const readModels = [issueProjection, issueCommentProjection];
  await db.transaction(async (tx) => {
    for (const readModel of readModels) await install(tx, readModel, "live");
  });
  let events = 0;
  const context = { open: async () => null };
  let batch = [];
  for await (const event of store.readAll()) {
    batch.push(event);
    events += 1;
    if (batch.length < 1_000) continue;
    for (const readModel of readModels) await project(db, readModel, batch, context);
    batch = [];
  }
  for (const readModel of readModels) await project(db, readModel, batch, context);
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

function written(event: AnyEvent): NewEvent {
  const id = randomUUID();
  return { ...event, id, metadata: metadataFor(id) };
}

function pick<Value>(values: readonly Value[], index: number): Value {
  return values[index % values.length] as Value;
}

async function seedProject(
  projectId: ProjectId,
  append: (stream: string, events: readonly AnyEvent[]) => Promise<void>,
): Promise<void> {
  const numbers: AnyEvent[] = [];
  for (let n = 1; n <= issuesPerProject; n += 1) {
    const issueId = randomUUID();
    const at = new Date(startOf2026 + n * 60_000).toISOString();
    const text = Array.from({ length: 40 }, (_, word) => pick(words, n * 3 + word * word));
    const data = {
      issueId,
      projectId,
      title: `${pick(words, n)} ${pick(words, n + 3)} ${n}`,
      description: text.join(" "),
      status: pick(["OPEN", "OPEN", "IN_PROGRESS", "CLOSED", "COMPLETED"], n),
      assigneeIds: [pick(people, n)],
      labelIds: [pick(labels, n), pick(labels, n + 1)],
      createdById: pick(people, n + 7),
      createdAt: at,
    };
    await append(issueStream(issueId), [{ type: "IssueCreated", data }]);
    const localId = n as LocalId;
    numbers.push({
      type: "LocalIdAssigned",
      data: { kind: "ISSUE", projectId, localId, subjectId: issueId, assignedAt: at },
    });
    for (let comment = 0; comment < commentsPerIssue; comment += 1) {
      const issueCommentId = randomUUID();
      const message = `${pick(words, n + comment)} again`;
      const of = { issueCommentId, issueId, projectId, message };
      await append(issueCommentStream(issueCommentId), [
        {
          type: "IssueCommentCreated",
          data: { ...of, createdById: pick(people, n), createdAt: at },
        },
      ]);
    }
  }
  await append(localIdStream("ISSUE", projectId), numbers);
}
