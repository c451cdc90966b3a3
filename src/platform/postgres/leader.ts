import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { StoreDenied, UnsupportedServer } from "../event-store/event-store.ts";
import { connectPostgres } from "../postgres.ts";

/** Between tries that fail for a reason which does not pass by itself, such as rights that are missing. */
const refusedPauseMs = 5_000;
/** A failure that stays the same is reported again after this time. */
const reportAgainMs = 60_000;

/** How long a standby takes at most to notice that the leader is gone. */
const standbyPollMs = 250;

/**
 * Holds an advisory lock while `run` runs; undefined when another session has it. The lock belongs to
 * the session: it is free the moment the holder's process or connection dies, and then the signal
 * given to `run` aborts.
 */
export async function withLock<Result>(
  url: string,
  name: string,
  signal: AbortSignal,
  run: (held: AbortSignal) => Promise<Result>,
): Promise<{ result: Result } | undefined> {
  return withSession(url, name, signal, async (client, held) =>
    (await tryLock(client, name)) ? { result: await run(held) } : undefined,
  );
}

/**
 * Runs `lead` whenever this process is the leader, until the signal aborts; a standby otherwise.
 * That only one leads saves work; what keeps two from doing harm is the lock of the feed and of the checkpoints.
 *
 * @param onError called once a minute for a failure that stays the same
 */
export async function whileLeader(
  url: string,
  name: string,
  signal: AbortSignal,
  lead: (held: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  let reported: Readonly<{ message: string; at: number }> | undefined;
  const report = (error: unknown): void => {
    const message = String(error);
    const now = performance.now();
    if (reported?.message === message && now - reported.at < reportAgainMs) return;
    reported = { message, at: now };
    onError(error);
  };
  while (!signal.aborted) {
    let pauseMs = standbyPollMs;
    try {
      await withSession(url, name, signal, async (client, held) => {
        while (!(await tryLock(client, name))) {
          await pause(held, standbyPollMs);
          held.throwIfAborted();
        }
        await lead(held);
      });
    } catch (error) {
      if (!signal.aborted) report(error);
      if (isDenied(error)) pauseMs = refusedPauseMs;
    }
    await pause(signal, pauseMs);
  }
}

/** A connection of its own, and a signal that also aborts when it is lost. */
async function withSession<Result>(
  url: string,
  name: string,
  signal: AbortSignal,
  run: (client: pg.Client, held: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const client = await connectPostgres(url, `lock ${name}`);
  const lost = new AbortController();
  client.once("end", () => lost.abort(new Error(`The connection that held ${name} was lost`)));
  try {
    return await run(client, AbortSignal.any([signal, lost.signal]));
  } finally {
    await client.end().catch(() => undefined);
  }
}

const isDenied = (error: unknown): boolean =>
  error instanceof StoreDenied || error instanceof UnsupportedServer;

async function pause(signal: AbortSignal, ms: number): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

async function tryLock(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    "select pg_try_advisory_lock(hashtextextended($1, 0)) as locked",
    [name],
  );
  return rows[0]?.locked === true;
}
