import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { type ChainCheck, checkChain, type KeptMark } from "../projections/audit/chain-check.ts";
import { stopSignal } from "./stop-signal.ts";
import { withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitDiffers = 1;
const closeLimitMs = 5_000;

/**
 * `audit verify [--expect events:hash]`: recomputes the chain over the log and names the first
 * difference, with exit code 1. The line it ends with is a mark to keep elsewhere and expect later.
 */
export async function runVerify(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { expect: { type: "string" } } });
  const kept = values.expect === undefined ? {} : { kept: readMark(values.expect) };
  const { signal } = stopSignal(closeLimitMs);
  const check = await withStores("audit", ({ db, store }) =>
    checkChain({ db, store }, { signal, onProgress, ...kept }),
  );
  if (process.stderr.isTTY) write(process.stderr, "\r\x1b[K");
  write(check.equal ? process.stdout : process.stderr, `${verdict(check)}\n`);
  return check.equal ? 0 : exitDiffers;
}

function onProgress(events: bigint, ofEvents: bigint): void {
  if (!process.stderr.isTTY) return;
  write(process.stderr, `\r\x1b[K${events} of ${ofEvents} events verified`);
}

function verdict(check: ChainCheck): string {
  if (!check.equal) {
    const [after, upTo] = check.between;
    const where = after < 0n ? `up to position ${upTo}` : `between positions ${after} and ${upTo}`;
    return `The log was changed ${where}: ${check.first}.`;
  }
  const { events, chain } = check.head;
  return `The log is unchanged: ${events} events.\n${events}:${chain.toString("hex")}`;
}

function readMark(text: string): KeptMark {
  const [, events, chain] = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (events === undefined || chain === undefined) {
    throw new ConfigError("--expect takes what an earlier verification printed, events:hash.");
  }
  return { events: BigInt(events), chain: Buffer.from(chain, "hex") };
}
