import { BoundedCache } from "../../platform/bounded-cache.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { SourceAccount } from "./source-account.ts";
import type { Brought } from "./source-subject.ts";

/** Bytes that found no room; undefined: looking took too long, before this time of `performance.now()`. */
type Refused = Readonly<{ bytes: number } | { bytes: undefined; until: number }>;

const tooLongMs = 10 * 60_000;
const entryBytes = 250;
const entriesMax = 1_000;

/** By target, source, author and commit: what was refused is not tried again while nothing is better. */
const refused = new BoundedCache<Refused>(entriesMax * entryBytes);

export type Refusals = Readonly<{
  /** @throws Refusal of before, while it holds */
  mustBeWorthwhile: () => Promise<void>;
  /** Remembers it, and gives the refusal. */
  noRoom: (what: string, bytes: number) => Refusal;
  tooLong: () => Refusal;
}>;

export function refusalsOf(brought: Brought, account: SourceAccount): Refusals {
  const { sourceProjectId, target, authorId, sourceCommit } = brought;
  const key = [target.id, sourceProjectId, authorId, sourceCommit].join(" ");
  return {
    async mustBeWorthwhile() {
      const before = refused.get(key);
      if (before?.bytes !== undefined && before.bytes > (await account.bytesLeft())) {
        throw account.full("What the request brings is more");
      }
      if (before !== undefined && before.bytes === undefined && before.until > performance.now()) {
        throw tooLong();
      }
      refused.delete(key);
    },
    noRoom(what, bytes) {
      refused.set(key, { bytes }, entryBytes);
      return account.full(what);
    },
    tooLong() {
      refused.set(key, { bytes: undefined, until: performance.now() + tooLongMs }, entryBytes);
      return tooLong();
    },
  };
}

function tooLong(): Refusal {
  const message = "It takes too long to look for LFS objects in so many commits.";
  return new Refusal("unprocessable", "merge_request.history_too_long", message);
}
