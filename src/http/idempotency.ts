import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";

import { Sealed } from "../events/sealed.ts";
import { userSubject } from "../events/user.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Vault } from "../platform/vault.ts";
import type { Answer } from "./answer.ts";
import { problemAnswer } from "./errors.ts";

/** A request holds its key this long; a process that died with it is replaced after that. */
const leaseSeconds = 30;
const keptHours = 24;
const waitMs = 10_000;
const pollMs = 50;
const keyForm = /^[\x21-\x7e]{1,255}$/;

export type Keyed = Readonly<{
  userId: string;
  operationId: string;
  key: string;
  /** Everything that must be equal for two requests to count as one. */
  request: readonly (string | Buffer)[];
  url: string;
  requestId: string;
}>;

export type Idempotency = Readonly<{
  /**
   * Runs a request at most once for a user, operation and key in 24 hours, and gives the same answer
   * again. Two at once: the second waits for the first. A process that dies on the way leaves its
   * key to the next attempt, with the same command id, so that what it had appended is found.
   *
   * Answers of 5xx and 429 are not kept: trying again is what they ask for.
   *
   * @throws Refusal 422 `idempotency.key_reused` for another request under the key,
   *   409 `idempotency.in_progress` when the first takes too long
   */
  once: (keyed: Keyed, run: (commandId: string) => Promise<Answer>) => Promise<Answer>;
  /** Drops answers that are past their time. */
  sweep: () => Promise<void>;
}>;

type Row = Readonly<{
  id: string;
  request_hash: string;
  command_id: string;
  lease_owner: string;
  lease_until: Date;
  status: number | null;
  headers: Readonly<Record<string, string>> | null;
  /** Under the user's key: an answer may hold a new token or personal data. */
  body: Sealed | null;
}>;

export function idempotency(db: Knex, vault: Vault): Idempotency {
  const table = () => db<Row>("public.idempotent_answer");

  async function claim(id: string, requestHash: string): Promise<Row | undefined> {
    const row = { id, requestHash, commandId: randomUUID(), owner: randomUUID() };
    const result = await db.raw<{ rows: Row[] }>(claimSql, { ...row, leaseSeconds, keptHours });
    return result.rows[0];
  }

  const mine = (row: Row) => table().where({ id: row.id, lease_owner: row.lease_owner });

  /** Leaves the key to the next attempt. */
  async function release(row: Row): Promise<void> {
    await mine(row).update({ lease_until: db.fn.now() });
  }

  async function keep(row: Row, userId: string, answer: Answer): Promise<void> {
    if (typeof answer.body !== "string") return await release(row);
    const body = await vault.seal(userSubject(userId), answer.body);
    await mine(row).update({ status: answer.status, headers: answer.headers, body });
  }

  async function kept(row: Row): Promise<Answer | undefined> {
    if (row.status === null || row.body === null) return undefined;
    const body = await vault.open(Sealed.parse(row.body));
    const headers = { ...row.headers, "Idempotent-Replayed": "true" };
    return { status: row.status, headers, body: body ?? "" };
  }

  return {
    async once(keyed, run) {
      const { userId, operationId, key } = keyed;
      if (!keyForm.test(key)) {
        const message = "Idempotency-Key must be 1 to 255 visible ASCII characters.";
        throw new Refusal("unprocessable", "idempotency.key_malformed", message);
      }
      const id = deterministicId(userId, operationId, key);
      const requestHash = hashOf(keyed.request);

      for (const deadline = Date.now() + waitMs; ; await sleep(pollMs)) {
        const claimed = await claim(id, requestHash);
        if (claimed !== undefined) {
          try {
            const answer = await attempt(keyed, () => run(claimed.command_id));
            await keep(claimed, userId, answer);
            return answer;
          } catch (error) {
            await release(claimed);
            throw error;
          }
        }
        const other = await table().where({ id }).first();
        if (other === undefined) continue;
        if (other.request_hash !== requestHash) throw keyReused();
        const answer = await kept(other);
        if (answer !== undefined) return answer;
        if (Date.now() > deadline) throw inProgress();
      }
    },
    async sweep() {
      const old = db.raw("now() - make_interval(hours => ?)", [keptHours]);
      await table().where("created_at", "<", old).delete();
    },
  };
}

/**
 * Takes the key when it is free, past its time, or held by somebody whose lease ran out on the same
 * request; the command id stays for as long as the key does.
 */
const claimSql = `
  insert into public.idempotent_answer as kept
    (id, request_hash, command_id, lease_owner, lease_until, created_at)
  values (:id, :requestHash, :commandId, :owner, now() + make_interval(secs => :leaseSeconds), now())
  on conflict (id) do update set
    request_hash = excluded.request_hash,
    lease_owner = excluded.lease_owner,
    lease_until = excluded.lease_until,
    command_id = case when kept.created_at < now() - make_interval(hours => :keptHours)
      then excluded.command_id else kept.command_id end,
    created_at = case when kept.created_at < now() - make_interval(hours => :keptHours)
      then excluded.created_at else kept.created_at end,
    status = null, headers = null, body = null
  where kept.created_at < now() - make_interval(hours => :keptHours)
    or (kept.status is null and kept.lease_until <= now()
      and kept.request_hash = excluded.request_hash)
  returning *`;

/** A refusal of the handler is an answer like any other; what is our own fault is thrown on. */
async function attempt(keyed: Keyed, run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    const answer = problemAnswer(error, keyed.url, keyed.requestId);
    if (answer.status >= 500 || answer.status === 429) throw error;
    return answer;
  }
}

function hashOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest("hex");
}

function keyReused(): Refusal {
  const message = "This Idempotency-Key was used for another request.";
  return new Refusal("unprocessable", "idempotency.key_reused", message);
}

function inProgress(): Refusal {
  const message = "The first request with this Idempotency-Key is still being handled.";
  return new Refusal("conflict", "idempotency.in_progress", message, { retryAfterSeconds: 1 });
}
