import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";

import { Sealed } from "../../events/core/sealed.ts";
import { userSubject } from "../../events/user/user.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Vault } from "../../platform/key/vault.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Answer } from "./answer.ts";
import { problemAnswer } from "./errors.ts";

/** A request holds its key this long after its process has died. */
const leaseSeconds = 4;
const renewMs = 1_000;
/** What was begun is brought to its end for so long, with or without the client. */
const finishMaxMs = 60_000;
const finishPauseMs = 250;
const keptHours = 24;
const waitMs = 10_000;
const pollMs = 50;
const keyForm = /^[\x21-\x7e]{1,255}$/;

export type Keyed = Readonly<{
  /** Whose key it is: a user's id; without a token, see `strangerOf`. */
  callerId: string;
  /** Narrows whose key it is: the project of a caller who was authenticated by the token of a job. */
  jobProjectId?: string | undefined;
  operationId: string;
  key: string;
  /** Everything that must be equal for two requests to count as one. */
  request: readonly (string | Buffer)[];
  url: string;
  requestId: string;
  /** The answer of every success, where it has no body that depends on the outcome. */
  success?: Answer;
  /** False when the body can be read only once: such a request is not run again without its client. */
  repeatable: boolean;
}>;

/** The state that a running request reports. */
export type Progress = Readonly<{
  /** It has appended events: from now on it has an outcome. */
  appended: () => void;
  /** It goes on, but the client is answered with this error now. */
  answerEarly: (error: unknown) => void;
}>;

export type Idempotency = Readonly<{
  /**
   * Runs a request at most once for a caller, operation and key in 24 hours, and gives the same answer
   * again. Two at once: the second waits for the first. A process that dies on the way leaves its
   * key to the next attempt, with the same command id, so that what it had appended is found.
   *
   * Answers of 5xx and 429 are not kept: the client is to try again. A request that has appended
   * events is brought to its end in the background, so that trying again gives its outcome and not what
   * its own changes make of a second one.
   *
   * @throws Refusal 422 `idempotency.key_reused` for another request under the key,
   *   409 `idempotency.in_progress` when the first takes too long
   */
  once: (
    keyed: Keyed,
    run: (commandId: string, progress: Progress) => Promise<Answer>,
  ) => Promise<Answer>;
  /** Drops answers that are past their time. */
  sweep: () => Promise<void>;
}>;

type Row = Readonly<{
  id: string;
  request_hash: string;
  command_id: string;
  lease_owner: string;
  lease_until: Date;
  appended: boolean;
  status: number | null;
  headers: Readonly<Record<string, string>> | null;
  /** Under the caller's key: an answer may hold a new token or personal data. */
  body: Sealed | null;
}>;

type Run = Parameters<Idempotency["once"]>[1];

export function idempotency(db: Knex, vault: Vault): Idempotency {
  const keys = keyTable(db, vault);
  return {
    async once(keyed, run) {
      const { callerId, jobProjectId, operationId, key } = keyed;
      if (!keyForm.test(key)) {
        const message = "Idempotency-Key must be 1 to 255 visible ASCII characters.";
        throw new Refusal("unprocessable", "idempotency.key_malformed", message);
      }
      const narrowed = jobProjectId === undefined ? [] : [jobProjectId];
      const id = deterministicId(callerId, operationId, key, ...narrowed);
      const requestHash = hashOf(keyed.request);

      for (const deadline = Date.now() + waitMs; ; await sleep(pollMs)) {
        const claimed = await keys.claim(id, requestHash);
        if (claimed !== undefined) return await inTime(keys, claimed, keyed, run);
        const other = await keys.find(id);
        if (other === undefined) continue;
        if (other.request_hash !== requestHash) throw keyReused();
        const answer = await keys.kept(other);
        if (answer !== undefined) return answer;
        if (Date.now() > deadline) throw inProgress();
      }
    },
    sweep: keys.sweep,
  };
}

/** The outcome, or the error that the client is answered with while the request goes on. */
function inTime(keys: KeyTable, row: Row, keyed: Keyed, run: Run): Promise<Answer> {
  return new Promise((resolve, reject) => {
    finish(keys, row, keyed, (progress) => run(row.command_id, progress), reject).then(
      resolve,
      reject,
    );
  });
}

async function finish(
  keys: KeyTable,
  row: Row,
  keyed: Keyed,
  run: (progress: Progress) => Promise<Answer>,
  answerEarly: Progress["answerEarly"],
): Promise<Answer> {
  const renewing = setInterval(() => keys.renew(row), renewMs).unref();
  let { appended } = row;
  const noteAppended = (): void => {
    if (!appended) keys.noteAppended(row);
    appended = true;
  };
  const deadline = Date.now() + finishMaxMs;
  try {
    for (;;) {
      const hadAppended = appended;
      try {
        const answer = await attempt(keyed, () => run({ appended: noteAppended, answerEarly }));
        // Its own changes are what refuses it: a thing that it deleted is gone.
        const hidden = hadAppended && answer.status >= 400 ? keyed.success : undefined;
        await keys.keep(row, keyed.callerId, hidden ?? answer);
        return hidden ?? answer;
      } catch (error) {
        const mayPass = problemAnswer(error, keyed.url, keyed.requestId).status === 503;
        if (!appended || !mayPass || !keyed.repeatable || Date.now() > deadline) throw error;
        answerEarly(error);
        await sleep(finishPauseMs, undefined, { ref: false });
      }
    }
  } catch (error) {
    await keys.release(row);
    throw error;
  } finally {
    clearInterval(renewing);
  }
}

type KeyTable = ReturnType<typeof keyTable>;

function keyTable(db: Knex, vault: Vault) {
  const table = () => db<Row>("public.idempotent_answer");
  const mine = (row: Row) => table().where({ id: row.id, lease_owner: row.lease_owner });
  /** Losing such a note costs a repetition no more than waiting, and the service nothing. */
  const ifPossible = (update: Promise<unknown>): void => void update.catch(() => undefined);

  const release = async (row: Row): Promise<void> => {
    await mine(row).update({ lease_until: db.fn.now() });
  };

  return {
    async claim(id: string, requestHash: string): Promise<Row | undefined> {
      const row = { id, requestHash, commandId: randomUUID(), owner: randomUUID() };
      const result = await db.raw<{ rows: Row[] }>(claimSql, { ...row, leaseSeconds, keptHours });
      return result.rows[0];
    },
    find: (id: string): Promise<Row | undefined> => table().where({ id }).first(),
    renew(row: Row): void {
      const until = db.raw("now() + make_interval(secs => ?)", [leaseSeconds]);
      ifPossible(mine(row).update({ lease_until: until }).then());
    },
    noteAppended: (row: Row): void => ifPossible(mine(row).update({ appended: true }).then()),
    /** Leaves the key to the next attempt. */
    release,
    async keep(row: Row, callerId: string, answer: Answer): Promise<void> {
      if (typeof answer.body !== "string") return await release(row);
      const body = await vault.seal(subjectOf(callerId), answer.body);
      await mine(row).update({ status: answer.status, headers: answer.headers, body });
    },
    async kept(row: Row): Promise<Answer | undefined> {
      if (row.status === null || row.body === null) return undefined;
      const body = await vault.open(Sealed.parse(row.body));
      const headers = { ...row.headers, "Idempotent-Replayed": "true" };
      return { status: row.status, headers, body: body ?? "" };
    },
    async sweep(): Promise<void> {
      const old = db.raw("now() - make_interval(hours => ?)", [keptHours]);
      await table().where("created_at", "<", old).delete();
    },
  };
}

/** What is repeated under a key: a POST, and an upload by PUT, whose path may not be stored twice. */
export const takesIdempotencyKey = ({
  method,
  attachment,
}: Readonly<{ method: string; attachment?: true }>): boolean =>
  method === "post" || (method === "put" && attachment === true);

const anonymousPrefix = "address ";

/**
 * Whose the key of a caller without a token is. People behind one address share their keys: the
 * request has to be the same as well, so one never gets the answer to another's password.
 */
export const anonymousCallerOf = (ip: string): string => `${anonymousPrefix}${ip}`;

/** Answers to callers without an account share a key of the vault. */
const subjectOf = (callerId: string): string =>
  callerId.startsWith(anonymousPrefix) ? "idempotency" : userSubject(callerId);

/**
 * Takes the key when it is free, past its time, or held by an owner whose lease ran out on the same
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
    appended = kept.appended and kept.created_at >= now() - make_interval(hours => :keptHours),
    status = null, headers = null, body = null
  where kept.created_at < now() - make_interval(hours => :keptHours)
    or (kept.status is null and kept.lease_until <= now()
      and kept.request_hash = excluded.request_hash)
  returning *`;

/** A refusal of the handler is an answer like any other; what is our own fault, or the line's, is thrown on. */
async function attempt(keyed: Keyed, run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    const answer = problemAnswer(error, keyed.url, keyed.requestId);
    const isOfLine = [408, 429].includes(answer.status) || answer.code === "body.cut";
    if (answer.status >= 500 || isOfLine) throw error;
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
