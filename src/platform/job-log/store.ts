import type { Knex } from "knex";

import type { MaskedForms } from "./mask.ts";
import { maskEnd, maskNextPiece } from "./mask-reader.ts";

/** One run of a job. */
export type RunKey = Readonly<{ job_id: string; attempt: number }>;

export type JobRunRow = RunKey &
  Readonly<{
    project_id: string;
    agent_id: string;
    /** SHA-256 of the token of this run, hex; kept when the run is over. */
    token_hash: string;
    /** When its agent last spoke of it. */
    contact_at: Date;
    /** When the agent said that it has got the job; null until then. */
    confirmed_at: Date | null;
    /** When the agent first said that it is over, while parts of the log were missing. */
    final_at: Date | null;
    /** When a user last read the log while it grew. */
    watched_at: Date | null;
    /** Bytes that came from the agent. */
    received: bigint;
    /** Bytes that can be read: masked, and cut at the limit. */
    stored: bigint;
    /** What came and may be the beginning of a masked value. */
    tail: Buffer;
    /** When the log was closed for good. */
    sealed_at: Date | null;
    /** Whether its agent runs after_script when the job is canceled. */
    cancels_gracefully: boolean;
    /** So long the agent of a canceled job may go on; null for one that was not canceled. */
    canceling_until: Date | null;
    /** When the agent of a canceled job said that it has stopped, or a run was given up that no agent confirmed. */
    over_at: Date | null;
  }>;

export const logBytesMax = 100 * 1024 ** 2;

const cutLine = Buffer.from("\n[The log is longer than 100 MiB: the rest is not kept.]\n");

type Later =
  | "confirmed_at"
  | "final_at"
  | "watched_at"
  | "received"
  | "stored"
  | "tail"
  | "sealed_at";
type Ending = "canceling_until" | "over_at";
export type NewRun = Omit<JobRunRow, Later | Ending | "cancels_gracefully"> &
  Readonly<{ cancels_gracefully?: boolean }>;

/** One that an agent has been given. */
export type AssignedRun = NewRun &
  Readonly<{
    /** Position of the event that gave the job to the agent. */
    given_position: bigint;
  }>;

/**
 * One that was given up before it is noted stays so. So does the run of an agent that was given the job after it, which
 * the log decides: the clocks of the processes that give jobs may differ.
 *
 * @param run its contact is the moment at which it was given
 */
export async function beginRun(db: Knex, run: AssignedRun): Promise<void> {
  const anew = { confirmed_at: null, canceling_until: null, over_at: null };
  const going = { cancels_gracefully: false, ...anew, ...run };
  await db("public.job_run")
    .insert(going)
    .onConflict(["job_id", "attempt"])
    .merge()
    .whereRaw("job_run.token_hash <> excluded.token_hash")
    .where((earlier) => {
      // Its agent goes no further, also where the log was moved and its positions with it.
      earlier.whereRaw("job_run.over_at is not null");
      earlier.orWhereRaw("coalesce(job_run.given_position, -1) < excluded.given_position");
    });
}

/** Lets the agents of runs whose jobs are about to be canceled go on, where they know what to do with it. */
export async function letRunsEnd(db: Knex, keys: readonly RunKey[], until: Date): Promise<void> {
  if (keys.length === 0) return;
  await db.raw(
    `update public.job_run as run set canceling_until = :until
     from unnest(:jobs::uuid[], :attempts::int[]) as given (job_id, attempt)
     where run.job_id = given.job_id and run.attempt = given.attempt
       and run.cancels_gracefully and run.confirmed_at is not null and run.over_at is null`,
    { until, ...keyColumns(keys) },
  );
}

/** Ends the runs of canceled jobs that are about to start anew: their agents may not go on. */
export async function endCanceledRuns(
  db: Knex,
  jobIds: readonly string[],
  at: Date,
): Promise<void> {
  if (jobIds.length === 0) return;
  await db.raw(
    `update public.job_run set over_at = :at
     where job_id = any(:jobs) and canceling_until is not null and over_at is null`,
    { at, jobs: [...jobIds] },
  );
}

/** Whether the agent of a canceled job may still go on. */
export const isLetEnd = (
  { canceling_until, over_at }: Pick<JobRunRow, "canceling_until" | "over_at">,
  now: Date,
): boolean => canceling_until !== null && canceling_until > now && over_at === null;

/**
 * Ends a run that its agent has not confirmed: it cannot confirm it from now on, also where the process that gave the
 * job to it has yet to note the run.
 *
 * @returns whether it has ended; it has also where it was given up before
 */
export async function giveUpRun(db: Knex, run: NewRun, at: Date): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `insert into public.job_run
       (job_id, attempt, project_id, agent_id, token_hash, contact_at, confirmed_at, over_at)
     values (:job_id, :attempt, :project_id, :agent_id, :token_hash, :contact_at, null, :at)
     on conflict (job_id, attempt) do update set agent_id = excluded.agent_id,
       token_hash = excluded.token_hash, over_at = coalesce(job_run.over_at, excluded.over_at)
     where job_run.confirmed_at is null
       and (job_run.token_hash = excluded.token_hash or job_run.over_at is not null)`,
    { ...run, at },
  );
  return rowCount > 0;
}

/** The agent of a canceled job has stopped. */
export async function noteRunOver(db: Knex, { job_id, attempt }: RunKey, at: Date): Promise<void> {
  await db("public.job_run").where({ job_id, attempt }).update({ over_at: at });
}

export function findRun(
  db: Knex,
  which: RunKey | Readonly<{ job_id: string; token_hash: string }>,
): Promise<JobRunRow | undefined> {
  return db<JobRunRow>("public.job_run").where(which).orderBy("attempt", "desc").first();
}

export async function noteRunContact(db: Knex, { job_id, attempt }: RunKey, at: Date) {
  await db("public.job_run").where({ job_id, attempt }).update({ contact_at: at });
}

export async function noteRunFinal(db: Knex, { job_id, attempt }: RunKey, at: Date) {
  await db("public.job_run")
    .where({ job_id, attempt })
    .update({ final_at: db.raw("coalesce(final_at, ?)", [at]) });
}

export async function noteRunWatched(db: Knex, { job_id, attempt }: RunKey, at: Date) {
  await db("public.job_run").where({ job_id, attempt }).update({ watched_at: at });
}

export type Appended = Readonly<{
  /** Whether the piece was the next one; otherwise nothing changed. */
  fits: boolean;
  /** Bytes that came in all: where the next piece begins. */
  received: number;
}>;

type Piece = Readonly<{ first: number; data: Buffer; forms: MaskedForms; bytesMax?: number }>;

/**
 * Appends a piece to the log of a run when it is the next one. It is durable when this returns. Pieces
 * of one run take turns, in all processes, by the lock of its row.
 *
 * @throws TooComplex, ParserBusy when it cannot be masked
 */
export async function appendLog(db: Knex, key: RunKey, piece: Piece): Promise<Appended> {
  const before = await findRun(db, idOf(key));
  if (before === undefined || !isNext(before, piece)) {
    return { fits: false, received: Number(before?.received ?? 0n) };
  }
  // Before the lock is taken: it may wait for its turn.
  const joined = Buffer.concat([before.tail, piece.data]);
  const { final, tail } = await maskNextPiece(joined, piece.forms);
  return db.transaction(async (tx) => {
    const row = await lockRun(tx, key);
    const received = Number(row?.received ?? 0n);
    const isSame = row !== undefined && isNext(row, piece) && row.tail.equals(before.tail);
    if (!isSame) return { fits: false, received };
    const stored = await store(tx, row, final, piece.bytesMax ?? logBytesMax);
    const now = received + piece.data.length;
    await tx("public.job_run").where(idOf(key)).update({ received: now, stored, tail });
    return { fits: true, received: now };
  });
}

const isNext = ({ received, sealed_at }: JobRunRow, { first }: Piece): boolean =>
  sealed_at === null && Number(received) === first;

/**
 * Makes what was held back readable: no more of the log comes.
 *
 * @param run as it was found when its end was reported: where it holds nothing back, and no line is added, nothing is
 *   to be done
 * @param ending line of the service itself; it is added once, however often the log is closed
 */
export async function closeLog(
  db: Knex,
  run: RunKey & Pick<JobRunRow, "tail">,
  forms: MaskedForms,
  { ending = "", bytesMax = logBytesMax }: Readonly<{ ending?: string; bytesMax?: number }> = {},
): Promise<void> {
  if (run.tail.length === 0 && ending === "") return;
  await db.transaction(async (tx) => {
    const row = await lockRun(tx, run);
    if (row === undefined) return;
    const line = Buffer.from(ending === "" ? "" : `\n${ending}\n`);
    const isThere = row.tail.length === 0 && (await endsWith(tx, row, line));
    const masked = maskEnd(row.tail, forms, isThere ? Buffer.alloc(0) : line);
    if (masked.length === 0) return;
    const stored = await store(tx, row, masked, bytesMax);
    await tx("public.job_run")
      .where(idOf(run))
      .update({ stored, tail: Buffer.alloc(0) });
  });
}

/**
 * Takes no more of the log of a run that has ended, so that a copy of it stays whole. What is still held
 * back may begin a masked value, and the rest of it never comes: stars replace it.
 *
 * @returns the run as it is from then on; undefined when there is none
 */
export function sealRun(db: Knex, key: RunKey, at: Date): Promise<JobRunRow | undefined> {
  return db.transaction(async (tx) => {
    const row = await lockRun(tx, key);
    if (row === undefined || row.sealed_at !== null) return row;
    const stored = await store(tx, row, Buffer.alloc(row.tail.length, "*"), logBytesMax);
    const [sealed]: readonly JobRunRow[] = await tx("public.job_run")
      .where(idOf(key))
      .update({ sealed_at: at, stored, tail: Buffer.alloc(0) })
      .returning("*");
    return sealed;
  });
}

/**
 * As `sealRun`, by one statement, for those of some runs that hold nothing back and are not sealed yet.
 *
 * @returns these as they are from then on
 */
export async function sealWholeRuns(
  db: Knex,
  keys: readonly RunKey[],
  at: Date,
): Promise<readonly JobRunRow[]> {
  if (keys.length === 0) return [];
  const { rows } = await db.raw<{ rows: readonly JobRunRow[] }>(
    `update public.job_run as run set sealed_at = :at
     from unnest(:jobs::uuid[], :attempts::int[]) as given (job_id, attempt)
     where run.job_id = given.job_id and run.attempt = given.attempt
       and run.sealed_at is null and run.tail = ''
     returning run.*`,
    { at, ...keyColumns(keys) },
  );
  return rows;
}

const keyColumns = (keys: readonly RunKey[]) => ({
  jobs: keys.map(({ job_id }) => job_id),
  attempts: keys.map(({ attempt }) => attempt),
});

/** Deletes what is stored of a log elsewhere by now; the run itself stays known. */
export async function dropChunks(db: Knex, key: RunKey): Promise<void> {
  await db("public.job_log_chunk").where(idOf(key)).delete();
}

/** With their logs. */
export async function dropRuns(db: Knex, jobIds: readonly string[]): Promise<void> {
  await db("public.job_run")
    .whereRaw("job_id = any(?)", [[...jobIds]])
    .delete();
}

async function endsWith(tx: Knex.Transaction, row: JobRunRow, line: Buffer): Promise<boolean> {
  const stored = Number(row.stored);
  if (line.length === 0 || stored < line.length) return line.length === 0;
  const parts: Buffer[] = [];
  const portion = { first: stored - line.length, last: stored - 1 };
  for await (const part of readLog(tx, row, portion)) parts.push(part);
  return Buffer.concat(parts).equals(line);
}

async function lockRun(tx: Knex.Transaction, key: RunKey): Promise<JobRunRow | undefined> {
  return tx<JobRunRow>("public.job_run").where(idOf(key)).forUpdate().first();
}

async function store(
  tx: Knex.Transaction,
  row: JobRunRow,
  final: Buffer,
  bytesMax: number,
): Promise<bigint> {
  const left = bytesMax - Number(row.stored);
  if (final.length === 0 || left < 0) return row.stored;
  const data = final.length <= left ? final : Buffer.concat([final.subarray(0, left), cutLine]);
  await tx("public.job_log_chunk").insert({ ...idOf(row), first_byte: row.stored, data });
  return row.stored + BigInt(data.length);
}

const idOf = ({ job_id, attempt }: RunKey): RunKey => ({ job_id, attempt });

/** Chunks that hold bytes from `first` on, a few at a time; each is at most 2 MiB. */
export async function* readLog(
  db: Knex,
  key: RunKey,
  { first, last }: Readonly<{ first: number; last: number }>,
): AsyncGenerator<Buffer> {
  for (let at = first; at <= last; ) {
    const chunk = await db("public.job_log_chunk")
      .where(idOf(key))
      .where("first_byte", "<=", at)
      .orderBy("first_byte", "desc")
      .first<{ first_byte: bigint; data: Buffer } | undefined>("first_byte", "data");
    if (chunk === undefined) return;
    const begin = Number(chunk.first_byte);
    const part = chunk.data.subarray(at - begin, last + 1 - begin);
    if (part.length === 0) return;
    yield part;
    at += part.length;
  }
}
