import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Knex } from "knex";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import type { Recorded } from "../src/events/core/event.ts";
import type { EventStore } from "../src/platform/event-store/event-store.ts";
import { migrate } from "../src/platform/migrate.ts";
import type { Statement } from "../src/platform/postgres/together.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { allProjections } from "../src/projections/all.ts";
import { feeder } from "../src/projections/core/feed-together.ts";
import { inSchema, install } from "../src/projections/core/install.ts";
import { feedOf, type Projection } from "../src/projections/core/projection.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { figure, median } from "./figure.ts";

/**
 * Milliseconds to feed one event, and those of a processor of the process and of PostgreSQL, with twice as many read
 * models as there are, against those there are, in turn. Once each has a double that takes the same events and writes
 * tables of its own, and once the doubles take events that do not come, as most read models do of most.
 * Run: `node --import tsx bench/feed-width.ts [batches of one event] [rounds]`.
 */
const batches = Number(process.argv[2] ?? 200);
const rounds = Number(process.argv[3] ?? 7);

const answers = allProjections.filter((projection) => feedOf(projection) === "answers");
const doubleSchema = "double";

/** With tables in another schema, which its statements name by the search path. */
function doubleOf(projection: Projection, types: Projection["types"]): Projection {
  const { create, index, statements } = projection;
  return {
    ...projection,
    name: `${projection.name}_double`,
    tables: [],
    types,
    create: (tx) => inSchema(tx, doubleSchema, () => create(tx)),
    ...(index && { index: (tx) => inSchema(tx, doubleSchema, () => index(tx)) }),
    ...(statements && {
      statements: async (db, events, context) => {
        const own = await statements(db, events, context);
        return own && [pathTo(db, doubleSchema), ...own.map(apart), pathTo(db, "read_model")];
      },
    }),
  };
}

const pathTo = (db: Knex, schema: string): Statement =>
  db.raw("select set_config('search_path', ?, true)", [`${schema}, public`]);

/** A text of its own, so that it is prepared for its own search path. */
const apart = (statement: Statement): Statement => {
  const { sql, bindings } = statement.toSQL().toNative();
  return { toSQL: () => ({ toNative: () => ({ sql: `${sql}\n-- double`, bindings }) }) };
};

type World = Readonly<{ db: Knex; pid: number; feedOne: () => Promise<void> }>;

async function world(
  url: string,
  name: string,
  projections: readonly Projection[],
): Promise<World> {
  const admin = openPostgres(url, { poolMax: 1 });
  await admin.raw("create database ??", [name]);
  await admin.destroy();
  const own = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  const migrating = openPostgres(own, { poolMax: 2 });
  await migrate(migrating);
  await migrating.destroy();
  const db = openPostgres(own, { poolMax: 1 });
  await db.raw("create schema ??", [doubleSchema]);
  await db.transaction(async (tx) => {
    for (const projection of projections) await install(tx, projection, "live");
  });
  const silent = (): void => undefined;
  const log = { info: silent, warn: silent, error: silent };
  const context = { open: async () => null };
  const feed = feeder({ db, store: {} as EventStore, projections, context, log }, "answers");
  let after = -1n;
  const next = async (events: readonly Recorded[]): Promise<void> => {
    const upTo = after + 1n;
    await feed({ after, upTo, events });
    after = upTo;
  };
  // The first one has all of them follow the feed.
  await next([]);
  const { rows } = await db.raw<{ rows: [{ pid: number }] }>("select pg_backend_pid() as pid");
  return { db, pid: rows[0].pid, feedOne: () => next([branchCreated(after + 1n)]) };
}

function branchCreated(position: bigint): Recorded {
  const [id, stream] = [randomUUID(), `repository-${randomUUID()}`];
  const changedAt = "2026-01-02T03:04:05.678Z";
  const data = { branch: "b", commitId: "1".repeat(40), changedById: null, changedAt };
  const metadata = metadataFor(id);
  const written = { id, type: "BranchCreated", stream, revision: 0n, position, data, metadata };
  return { ...written, recordedAt: new Date(changedAt) };
}

/** Of the process of PostgreSQL that serves the connection; see proc(5). */
async function backendMs(pid: number): Promise<number> {
  const [ran] = (await readFile(`/proc/${pid}/schedstat`, "utf8")).split(" ");
  return Number(ran) / 1e6;
}

/** For each event: by the clock at the median, and of processors. */
async function run({ pid, feedOne }: World): Promise<readonly [clock: number, processor: number]> {
  const [own, backend] = [process.cpuUsage(), await backendMs(pid)];
  const times: number[] = [];
  for (let n = 0; n < batches; n += 1) {
    const startedAt = performance.now();
    await feedOne();
    times.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(own);
  const used = (user + system) / 1_000 + (await backendMs(pid)) - backend;
  return [median(times), used / batches];
}

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir, durable: true });
const open: World[] = [];
try {
  const never: ReadonlySet<string> = new Set(["NeverHappens"]);
  const sets = [
    answers,
    [...answers, ...answers.map((each) => doubleOf(each, never))],
    [...answers, ...answers.map((each) => doubleOf(each, each.types))],
  ];
  for (const [n, set] of sets.entries()) open.push(await world(postgres.url, `width_${n}`, set));
  for (const each of open) await run(each);
  const taken = open.map((): (readonly [number, number])[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [n, each] of open.entries()) taken[n]?.push(await run(each));
  }
  const [base = [], idle = [], busy = []] = taken;
  const at = (all: readonly (readonly [number, number])[], index: 0 | 1): number =>
    median(all.map((each) => each[index]));
  for (const [name, all] of [
    [`${2 * answers.length}, doubles of other events`, idle],
    [`${2 * answers.length}, doubles of the same`, busy],
  ] as const) {
    for (const [what, index] of [
      ["p50", 0],
      ["processor", 1],
    ] as const) {
      const baseline = { name: `${answers.length} read models`, value: at(base, index) };
      figure(`${name}: ${what}`, "ms", at(all, index), baseline);
    }
  }
} finally {
  for (const { db } of open) await db.destroy();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
}
