import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Knex } from "knex";
import { ConfigError } from "../config.ts";
import { logKeyOf } from "../platform/key/log-key.ts";
import { checkHead } from "../projections/audit/head-check.ts";
import { checkLog, type LogCheck, type Mark } from "../projections/audit/log-check.ts";
import { logTreeProjection } from "../projections/audit/log-tree.ts";
import { beforeEverything, readCheckpoints } from "../projections/core/checkpoint.ts";
import { countedWholeUpTo } from "../projections/core/whole-log.ts";
import { readHead, type SavedHead } from "./saved-head.ts";
import { stopSignal } from "./stop-signal.ts";
import { withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitDiffers = 1;
const closeLimitMs = 5_000;

/**
 * `audit verify [--expect events:hash] [--head file]`: computes the Merkle tree over the log again and names the
 * first event that differs, with exit code 1. The line it ends with is a mark to keep elsewhere and expect later.
 * With a file that holds an answer of `/log/head` it first computes the tree over as many events; where the roots
 * differ, the stored leaves show the place.
 */
export async function runVerify(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { expect: { type: "string" }, head: { type: "string" } },
  });
  const expected = values.expect === undefined ? {} : { expected: readMark(values.expect) };
  const head = values.head === undefined ? undefined : await readHead(values.head);
  const { signal } = stopSignal(closeLimitMs);
  const isHead = head === undefined || (await isHeadOfLog(head, signal));
  if (isHead === undefined) return exitDiffers;
  const check = await withStores("audit", async ({ db, store }) => {
    await untilCounted(db, await store.head(), signal);
    return checkLog({ db, store }, { signal, onProgress, ...expected });
  });
  if (process.stderr.isTTY) write(process.stderr, "\r\x1b[K");
  const isEqual = check.equal && isHead && check.newer === undefined;
  const text = check.equal && !isHead ? rebuiltSince : verdict(check);
  write(isEqual ? process.stdout : process.stderr, `${text}\n`);
  return isEqual ? 0 : exitDiffers;
}

const rebuiltSince =
  "The read models agree with the log as it is now, so they do not show where it differs: they were built again " +
  "after a change, or the head is of a log that parted from this one. A head that was kept earlier narrows it down.";

/** Events that have just been appended are in the tree within moments, while the service runs. */
async function untilCounted(
  db: Knex,
  head: bigint | undefined,
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + countedWithinMs;
  for (;;) {
    const tree = (await readCheckpoints(db)).find(({ name }) => name === logTreeProjection.name);
    if (tree?.state !== "live" || tree.position >= (head ?? beforeEverything)) return;
    if (performance.now() > until) return;
    await delay(countedPollMs, undefined, { signal });
  }
}

const countedWithinMs = 5_000;
const countedPollMs = 50;

/** Undefined for a head that this instance did not sign: it proves nothing. */
async function isHeadOfLog(head: SavedHead, signal: AbortSignal): Promise<boolean | undefined> {
  return withStores("audit", async ({ db, store, vault }) => {
    if (!logKeyOf(vault, head.origin).isSignature(head, head.signature)) {
      write(process.stderr, "The head was not signed by this instance, or was changed since.\n");
      return undefined;
    }
    const check = await checkHead(store, head, signal, await countedWholeUpTo(db));
    const text = check.equal
      ? `The first ${head.size} events are those that the head of ${head.timestamp} was signed for.`
      : `The log is not what the head of ${head.timestamp} was signed for: ` +
        `${check.found.size} of ${head.size} events, root ${check.found.root.toString("base64")}.`;
    write(check.equal ? process.stdout : process.stderr, `${text}\n`);
    return check.equal;
  });
}

function onProgress(events: bigint, ofEvents: bigint): void {
  if (!process.stderr.isTTY) return;
  write(process.stderr, `\r\x1b[K${events} of ${ofEvents} events verified`);
}

function verdict(check: LogCheck): string {
  if (!check.equal) return `The log was changed: ${check.first}.`;
  const { size, root } = check.head;
  if (check.newer !== undefined) {
    return (
      `The first ${size} events of the log are unchanged. ${check.newer} newer ones are not proved: the read model ` +
      "log_tree has not come to them, see ledgerforge doctor."
    );
  }
  return `The log is unchanged: ${size} events.\n${size}:${root.toString("hex")}`;
}

function readMark(text: string): Mark {
  const [, events, hash] = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (events === undefined || hash === undefined) {
    throw new ConfigError("--expect takes what an earlier verification printed, events:hash.");
  }
  return { events: BigInt(events), hash: Buffer.from(hash, "hex") };
}
