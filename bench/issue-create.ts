import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { createIssue } from "../src/commands/issue/create-issue.ts";
import { startPostgres } from "../src/embedded/postgres/server.ts";
import { ProjectId, UserId } from "../src/events/core/ids.ts";
import { localIdStream } from "../src/events/core/local-id.ts";
import { IssueId } from "../src/events/issue/issue.ts";
import { type EventStore, RevisionConflict } from "../src/platform/event-store/event-store.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { spawnEventStore } from "../test/support/process/event-store-child.ts";
import { newStream } from "../test/support/store/test-event.ts";
import { figure, median } from "./figure.ts";

/**
 * Issues a second that 32 writers create in one project, numbers included, against events of the same
 * size a second that 32 writers append to streams of their own. Both wait for the disk. The two take turns, and the median
 * of the ratios of neighbouring turns is printed: other load of the machine affects both. Beside it stands how many appends
 * numbered an issue, and how many of them came second to those of the other process.
 *
 * node --import tsx bench/issue-create.ts [turns, 7 unless given] [milliseconds of each, 1000]
 */
const turns = Number(process.argv[2] ?? 7);
const measureMs = Number(process.argv[3] ?? 1_000);
const writers = 32;
/** Of the streams of numbers of issues. */
const numbersPrefix = localIdStream("ISSUE", "x").slice(0, -1);
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
const counted = { numbering: 0, lost: 0 };
const stores = [
  counting(openEventStore(server.url)),
  counting(openEventStore(server.url)),
] as const;
try {
  await run(append, 500);
  await run(creating(1), 500);
  for (const processes of [1, 2] as const) await compare(processes);
} finally {
  await Promise.all(stores.map((store) => store.close()));
  await server.kill();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
}

async function compare(processes: 1 | 2): Promise<void> {
  const rates = { append: [] as number[], create: [] as number[], ratio: [] as number[] };
  const create = creating(processes);
  Object.assign(counted, { numbering: 0, lost: 0 });
  for (let turn = 0; turn < turns; turn += 1) {
    const before = await run(append, measureMs);
    const created = await run(create, measureMs);
    const appended = (before + (await run(append, measureMs))) / 2;
    rates.append.push(appended);
    rates.create.push(created);
    rates.ratio.push(created / appended);
  }
  const baseline = { name: "append to own streams", value: median(rates.append) };
  const name = `create in one project, ${processes} process(es)`;
  figure(name, "1/s", median(rates.create), baseline);
  const issues = (rates.create.reduce((sum, each) => sum + each, 0) * measureMs) / 1_000;
  const each = (count: number) => (count / issues).toFixed(2);
  process.stdout.write(
    `  ratios of turns ${rates.ratio.map((ratio) => ratio.toFixed(2)).join(" ")}, ` +
      `median ${median(rates.ratio).toFixed(2)}; an issue took ${each(counted.numbering)} appends ` +
      `of numbers, of which ${each(counted.lost)} lost a race\n`,
  );
}

function counting(store: EventStore): EventStore {
  return {
    ...store,
    async append(stream, ...rest) {
      const numbers = stream.startsWith(numbersPrefix);
      if (numbers) counted.numbering += 1;
      return store.append(stream, ...rest).catch((error: unknown) => {
        if (numbers && error instanceof RevisionConflict) counted.lost += 1;
        throw error;
      });
    },
  };
}

function append(): Promise<unknown> {
  const id = randomUUID();
  const data = { issueId: id, projectId: id, ...details, createdById: by, createdAt: now() };
  const event = { type: "IssueCreated", id, data, metadata: metadataFor(id) };
  return stores[0].append(newStream(), "none", [event]);
}

/** Each connection to the store numbers by itself, as a process does. */
function creating(processes: 1 | 2) {
  const projectId = ProjectId.parse(randomUUID());
  return (writer: number): Promise<unknown> => {
    const store = stores[writer % processes] ?? stores[0];
    const issueId = IssueId.parse(randomUUID());
    const command = { type: "CreateIssue", issueId, details, projectId, by, at: now() } as const;
    return createIssue({ store, now }, command, metadataFor(issueId));
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
