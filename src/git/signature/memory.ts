import { createHash } from "node:crypto";
import type { Knex } from "knex";
import { BoundedCache } from "../../platform/bounded-cache.ts";
import { Limit } from "../../platform/limit.ts";
import type { SignatureCheck } from "./signature.ts";

/** A signature and the keys it is held against. */
export type SignatureQuestion = Readonly<{
  /** Of the commit or tag that was signed. */
  objectId: string;
  /** Ids that name keys for ever. */
  keyIds: readonly string[];
  /** Queries git, which starts programs. */
  runCheck: () => Promise<SignatureCheck>;
}>;

type Row = Readonly<{
  object_id: string;
  keys: string;
  kind: Exclude<SignatureCheck["kind"], "unsupported" | "unfinished">;
  key_id: string;
  checked_at: Date;
  holds_until: Date;
}>;

type CachedCheck = Pick<Row, "kind" | "key_id" | "holds_until">;

const dayMs = 24 * 60 * 60_000;
/** That a key made a signature stays true; so long it is remembered without another check. */
const goodMs = 180 * dayMs;
/** A negative result may come from a fault of this machine. */
const otherMs = dayMs;
const entryBytes = 400;
const rowsAtOnce = 1_000;

/** Checks that this process has made or read: a page that is requested again needs no other query. */
export class CheckCache {
  readonly checks = new BoundedCache<CachedCheck>(4 * 1024 ** 2);
  /** Concurrent requests for one check share one run of git. */
  readonly pending = new Map<string, Promise<SignatureCheck>>();
}

const processChecks = new CheckCache();
const checksAtOnce = new Limit({
  name: "git.signature_checks",
  total: 4,
  whenFull: "wait",
  keepsTurn: true,
});

/**
 * The answers, in the order of the questions. Whether a key made a signature never changes, so git
 * checks it once for all processes and restarts. Whose the keys are now, and whether they still count, is
 * not remembered here. Only that a key of GnuPG expires is, which is part of what gpg says.
 */
export async function checkSignatures(
  db: Knex,
  questions: readonly SignatureQuestion[],
  now: Date,
  cache = processChecks,
): Promise<readonly SignatureCheck[]> {
  const { checks: here, pending } = cache;
  const keyed = questions.map((question) => ({ ...question, keys: keysOf(question) }));
  const nameOf = (objectId: string, keys: string): string => `${objectId} ${keys}`;
  const holding = (check: CachedCheck | undefined) =>
    check !== undefined && check.holds_until > now ? checkOf(check) : undefined;

  const unknown = keyed.filter(
    ({ objectId, keys }) => holding(here.get(nameOf(objectId, keys))) === undefined,
  );
  for (let at = 0; at < unknown.length; at += rowsAtOnce) {
    const wanted = unknown.slice(at, at + rowsAtOnce).map((it) => [it.objectId, it.keys]);
    const rows = await db<Row>("public.signature_check").whereIn(["object_id", "keys"], wanted);
    for (const row of rows) keepHere(here, nameOf(row.object_id, row.keys), row);
  }
  return Promise.all(
    keyed.map(async ({ objectId, keys, runCheck }) => {
      const name = nameOf(objectId, keys);
      const cached = holding(here.get(name));
      if (cached !== undefined) return cached;
      const running =
        pending.get(name) ?? checksAtOnce.run(runCheck).finally(() => pending.delete(name));
      pending.set(name, running);
      const check = await running;
      const row = rowOf(objectId, keys, check, now);
      if (row !== undefined) {
        keepHere(here, name, row);
        await keep(db, row);
      }
      return check;
    }),
  );
}

/** Forgets what does not hold any more. */
export async function sweepSignatureChecks(db: Knex, now: Date): Promise<void> {
  await db<Row>("public.signature_check").where("holds_until", "<=", now).delete();
}

const keysOf = ({ keyIds }: SignatureQuestion): string =>
  createHash("sha256")
    .update([...keyIds].sort().join("\n"))
    .digest("base64url");

const checkOf = ({ kind, key_id }: CachedCheck): SignatureCheck => ({ kind, keyId: key_id });

function keepHere(
  here: CheckCache["checks"],
  name: string,
  { kind, key_id, holds_until }: CachedCheck,
): void {
  here.set(name, { kind, key_id, holds_until }, name.length + entryBytes);
}

function rowOf(object_id: string, keys: string, check: SignatureCheck, now: Date): Row | undefined {
  // A program may be installed any time, a machine may have less to do.
  if (check.kind === "unsupported" || check.kind === "unfinished") return undefined;
  const { kind, keyId: key_id } = check;
  const lasts = now.getTime() + (kind === "good" ? goodMs : otherMs);
  const until = check.kind === "good" ? (check.until?.getTime() ?? lasts) : lasts;
  const holds_until = new Date(Math.min(lasts, until));
  return { object_id, keys, kind, key_id, checked_at: now, holds_until };
}

async function keep(db: Knex, row: Row): Promise<void> {
  await db<Row>("public.signature_check").insert(row).onConflict(["object_id", "keys"]).merge();
}
