import type { Pool } from "pg";

import { isTombstoned, streamsToCheck } from "./commit-check.ts";
import {
  metastreamOf,
  noRevision,
  originalOf,
  type StoredEvent,
  sizeOf,
  ticksPerMs,
  tombstoneRevision,
} from "./event.ts";
import { keepNewest, retentionOf } from "./metadata.ts";
import {
  emptyHead,
  type Head,
  readAllBackwards,
  readAllForwards,
  readStreamBackwards,
  readStreamForwards,
} from "./storage.ts";
import type { StreamHeads } from "./stream-heads.ts";

export type Page = readonly StoredEvent[];

/** What a reader sees of a stream: which revisions, and how old. */
export type StreamView =
  | Readonly<{ kind: "tombstoned" }>
  /** Without events, or softly deleted after `last`. */
  | Readonly<{ kind: "absent"; last: bigint }>
  | Readonly<{ kind: "present"; first: bigint; last: bigint; createdMin: bigint }>;

export type StreamPart = Readonly<{ from: bigint; to: bigint; createdMin: bigint }>;

const pageBytesWanted = 4 * 1024 * 1024;
const pageCountMax = 1_000;

/** Reads the log and its streams, page by page, as they are committed. */
export class Reader {
  readonly #pool: Pool;
  readonly #heads: StreamHeads;

  constructor(pool: Pool, heads: StreamHeads) {
    this.#pool = pool;
    this.#heads = heads;
  }

  async viewOf(stream: string): Promise<StreamView> {
    const heads = await this.#heads.of(this.#pool, streamsToCheck(stream));
    const head = (name: string): Head => heads.get(name) ?? emptyHead;
    if (isTombstoned({ head }, stream)) return { kind: "tombstoned" };
    const { revision: last } = head(stream);
    const retention =
      originalOf(stream) === undefined
        ? retentionOf(head(metastreamOf(stream)).metadata)
        : keepNewest;
    const { truncateBefore, countMax, ageMaxSeconds } = retention;
    if (last === noRevision || truncateBefore === tombstoneRevision) {
      return { kind: "absent", last };
    }

    const counted = countMax === undefined ? 0n : last - countMax + 1n;
    const age = ageMaxSeconds === undefined ? undefined : ageMaxSeconds * 1_000n * ticksPerMs;
    return {
      kind: "present",
      first: counted > truncateBefore ? counted : truncateBefore,
      last,
      createdMin: age === undefined ? 0n : BigInt(Date.now()) * ticksPerMs - age,
    };
  }

  /** From `from` (inclusive) up to the end of the log. */
  allForwards(from: bigint, wanted?: bigint): AsyncGenerator<Page> {
    let next = from;
    return pages(wanted, async (countMax) => {
      const page = await readAllForwards(this.#pool, next, countMax);
      next = (page.at(-1)?.position ?? next) + 1n;
      return page;
    });
  }

  /** From before `before` (exclusive) down to the start of the log. */
  allBackwards(before: bigint, wanted?: bigint): AsyncGenerator<Page> {
    let next = before;
    return pages(wanted, async (countMax) => {
      const page = await readAllBackwards(this.#pool, next, countMax);
      next = page.at(-1)?.position ?? next;
      return page;
    });
  }

  /** Revisions `from` to `to`, both inclusive. */
  streamForwards(
    stream: string,
    { from, to, createdMin }: StreamPart,
    wanted?: bigint,
  ): AsyncGenerator<Page> {
    let next = from;
    return pages(wanted, async (countMax) => {
      const range = { stream, from: next, to, createdMin, countMax };
      const page = await readStreamForwards(this.#pool, range);
      next = (page.at(-1)?.revision ?? next) + 1n;
      return page;
    });
  }

  /** Revisions `to` down to `from`, both inclusive. */
  streamBackwards(
    stream: string,
    { from, to, createdMin }: StreamPart,
    wanted?: bigint,
  ): AsyncGenerator<Page> {
    let next = to;
    return pages(wanted, async (countMax) => {
      const range = { stream, from, to: next, createdMin, countMax };
      const page = await readStreamBackwards(this.#pool, range);
      next = (page.at(-1)?.revision ?? next) - 1n;
      return page;
    });
  }
}

/**
 * Begins with a small page and aims at a few megabytes, whatever the size of the events.
 *
 * @param wanted events in all; no end but that of the stream or log when not given
 */
async function* pages(
  wanted: bigint | undefined,
  read: (countMax: number) => Promise<Page>,
): AsyncGenerator<Page> {
  let left = wanted;
  for (let countMax = 32; left === undefined || left > 0n; ) {
    const count = left === undefined || left > countMax ? countMax : Number(left);
    const page = await read(count);
    if (page.length > 0) yield page;
    if (page.length < count) return;
    if (left !== undefined) left -= BigInt(page.length);
    const bytes = page.reduce((sum, event) => sum + sizeOf(event), 1);
    const fitting = Math.floor((pageBytesWanted * page.length) / bytes);
    countMax = Math.max(1, Math.min(fitting, pageCountMax));
  }
}
