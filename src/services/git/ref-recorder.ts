import type { Knex } from "knex";
import type { Logger } from "pino";
import {
  explainRefs,
  type PushedRef,
  type RefChange,
} from "../../commands/repository/repository.ts";
import { decode } from "../../events/core/decode.ts";
import type { EventMetadata, NewEvent } from "../../events/core/event.ts";
import { bySystem } from "../../events/core/system.ts";
import {
  refAfter,
  repositoryEvents,
  repositoryStream,
} from "../../events/repository/repository.ts";
import { removeUnwrittenRefs } from "../../git/file-system.ts";
import type { GitRepositories } from "../../git/repositories.ts";
import type { Refs, Repository } from "../../git/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  type EventStore,
  type ExpectedRevision,
  RevisionConflict,
} from "../../platform/event-store/event-store.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import {
  appliedPushes,
  type RecordedRefs,
  recordedRefs,
} from "../../projections/repository/git-ref.ts";
import { settleDefaultBranch } from "./default-branch.ts";
import {
  dropIntents,
  dropStaleIntents,
  endIntent,
  intentsOf,
  keepIntent,
  type Push,
  type PushIntent,
  projectsWithIntents,
} from "./push-intent.ts";
import { refEvent } from "./ref-event.ts";

export type RefRecorderDeps = Readonly<{
  store: EventStore;
  db: Knex;
  git: GitRepositories;
  now: () => Date;
  log: Pick<Logger, "info" | "warn">;
}>;

/**
 * Turns changes of refs by pushes into events, each change once. The order of the steps ensures this: the
 * intent is stored, git changes refs, the difference between the log and the repository is appended
 * at the revision it was computed from. A process that dies on the way leaves the intent, and the next
 * call that finds it finishes the work.
 */
export type RefRecorder = Readonly<{
  /** Called before git gets the commands of the push. */
  begin: (push: Push) => Promise<void>;
  /**
   * Called after git has ended, also by a failure. Returns the log position that shows the push.
   *
   * @param changed refs that git reported as changed; undefined without a report
   */
  finish: (push: Push, changed: ReadonlySet<string> | undefined) => Promise<bigint | undefined>;
  /**
   * Records changes of open pushes that no event shows yet, before refs are read.
   * Answers the log position that shows it; costs one query when no push is open.
   */
  settle: (projectId: string) => Promise<bigint | undefined>;
  /** Compares every ref of a repository with the log; changes without a push intent are the system's. */
  reconcile: (projectId: string) => Promise<bigint | undefined>;
  /** Completes pushes begun before `before` whose process has died. */
  heal: (before: Date) => Promise<void>;
}>;

const attemptsMax = 20;
/** EventStoreDB takes at most 1 MiB in one append. */
const eventsAtOnce = 400;
const staleAfterMs = 24 * 60 * 60_000;

/** By project, for all recorders of this process; with other processes the append may lose a race. */
const inTurnHere = keyedLock();

export function refRecorder(deps: RefRecorderDeps, inTurn = inTurnHere): RefRecorder {
  const { db, log } = deps;

  const record = (projectId: string, refs: readonly string[] | undefined) =>
    inTurn(projectId, async () => {
      const repository = await deps.git.find(projectId);
      if (repository === undefined) return undefined;
      for (let attempt = 1; ; attempt += 1) {
        try {
          const trusting = attempt === 1;
          return await recordOnce(deps, { projectId, repository, refs }, trusting);
        } catch (error) {
          // Another process recorded in between: what is left to record is computed anew.
          if (!(error instanceof RevisionConflict) || attempt === attemptsMax) throw error;
        }
      }
    });

  return {
    begin: (push) => keepIntent(db, push),
    async finish(push, changed) {
      if (push.together === true) await deps.git.sync();
      await endIntent(db, push, changed);
      const refs = push.refs.map(({ ref }) => ref);
      return record(push.projectId, refs);
    },
    async settle(projectId) {
      const refs = await changedByOpenPushes(deps, projectId);
      return refs.length === 0 ? undefined : record(projectId, refs);
    },
    reconcile: (projectId) => record(projectId, undefined),
    async heal(before) {
      for (const projectId of await projectsWithIntents(db, before)) {
        log.info({ projectId }, "accounting for a push that was cut off");
        // Whatever killed its process may have killed git.
        const repository = await deps.git.find(projectId);
        await repository?.removeLeftOvers();
        if (repository !== undefined) await removeUnwritten(deps, projectId, repository);
        await record(projectId, undefined);
      }
      await dropStaleIntents(db, new Date(before.getTime() - staleAfterMs));
    },
  };
}

/** Refs that have the value that an open push requests; it has not changed the others so far. */
async function changedByOpenPushes(
  { db, git }: RefRecorderDeps,
  projectId: string,
): Promise<readonly string[]> {
  const open = await intentsOf(db, projectId);
  const repository = open.length === 0 ? undefined : await git.find(projectId);
  if (repository === undefined) return [];
  const refs = await repository.refs(open.map(({ ref }) => ref));
  return open.filter(({ ref, after }) => (refs.get(ref) ?? null) === after).map(({ ref }) => ref);
}

/** Removes refs that a power cut may have hit before they were synced; no client got a report on them. */
async function removeUnwritten(
  { db, log }: RefRecorderDeps,
  projectId: string,
  { gitDir }: Repository,
): Promise<void> {
  const together = (await intentsOf(db, projectId)).filter((intent) => intent.together);
  const created = together.filter(({ before, doneOrder }) => before === null && doneOrder === null);
  const refs = await removeUnwrittenRefs(
    gitDir,
    created.map(({ ref }) => ref),
  );
  if (refs.length > 0)
    log.warn({ projectId, refs }, "refs that a power cut left empty are removed");
}

type Subject = Readonly<{
  projectId: string;
  repository: Repository;
  /** Undefined: all. */
  refs: readonly string[] | undefined;
}>;

/**
 * @param trusting whether to assume that the read model shows the whole log. Where it does not, the append
 * fails, since it is made at the revision that the read model shows.
 */
async function recordOnce(
  deps: RefRecorderDeps,
  subject: Subject,
  trusting: boolean,
): Promise<bigint | undefined> {
  const { projectId, repository } = subject;
  // Read before the refs: a change confirmed here is in the refs or was overtaken by a later one.
  const early = await intentsOf(deps.db, projectId);
  const wanted = subject.refs && new Set([...subject.refs, ...early.map(({ ref }) => ref)]);
  const names = wanted && [...wanted];
  const actual = await repository.refs(names);
  // Read after them: a change seen in the refs was announced before, so its push is among these.
  const [late, stored] = await Promise.all([
    intentsOf(deps.db, projectId),
    recordedRefs(deps.db, projectId, names),
  ]);

  const past = await recordedState(deps, subject, { stored, wanted, intents: late, trusting });
  const confirmed = new Set(early.filter(({ doneOrder }) => doneOrder !== null).map(keyOf));
  const isWanted = (ref: string): boolean => wanted?.has(ref) ?? true;
  const open = late.filter((intent) => !past.applied.has(keyOf(intent)) && isWanted(intent.ref));
  const pushed = open.map((intent) => ({ ...intent, done: confirmed.has(keyOf(intent)) }));
  const changes = await explainRefs(past.refs, actual, pushed);
  // Without an append, events that the read model does not show yet would go unnoticed.
  if (trusting && changes.length === 0) return recordOnce(deps, subject, false);
  // Refs in the log have to survive a power cut, and these are not synced for certain yet.
  if (changes.some(({ push }) => push?.together && push.doneOrder === null)) await deps.git.sync();
  const appended = await append(deps, subject, past.revision, changes);

  const taken = changes.flatMap(({ push }) => (push === null ? [] : [push]));
  const ended = early.filter((intent) => intent.ended && isWanted(intent.ref));
  const came = [...late, ...changes.map((change) => ({ ...change, ...change.push }))];
  const settled = await settleDefaultBranch(deps, subject, came, systemMetadata(deps, subject));
  await dropIntents(deps.db, [...taken, ...ended]);
  return settled ?? appended ?? past.position;
}

type Past = Readonly<{
  refs: Refs;
  revision: ExpectedRevision;
  /** Position of the newest event that the read model may not show yet. */
  position: bigint | undefined;
  /** Ref changes of pushes, by `keyOf`, that are recorded in events already. */
  applied: ReadonlySet<string>;
}>;

const keyOf = ({ pushId, ref }: Pick<PushIntent, "pushId" | "ref">): string => `${pushId} ${ref}`;

type Knowing = Readonly<{
  stored: RecordedRefs;
  /** Undefined: all. */
  wanted: ReadonlySet<string> | undefined;
  intents: readonly PushIntent[];
  trusting: boolean;
}>;

/** The read model with the events that it has not applied yet: the stream is never read as a whole. */
async function recordedState(
  { store, db }: RefRecorderDeps,
  { projectId }: Subject,
  { stored, wanted, intents, trusting }: Knowing,
): Promise<Past> {
  const refs = new Map(stored.refs);
  const pushIds = [...new Set(intents.map(({ pushId }) => pushId))];
  const applied = new Set((await appliedPushes(db, projectId, pushIds)).map(keyOf));
  let revision: ExpectedRevision = stored.revision ?? "none";
  let position: bigint | undefined;
  const from = stored.revision === undefined ? 0n : stored.revision + 1n;
  const since = trusting ? [] : store.readStream(repositoryStream(projectId), from);
  for await (const recorded of since) {
    const { ref, objectId } = refAfter(decode(repositoryEvents, recorded));
    if (objectId === null) refs.delete(ref);
    else if (wanted?.has(ref) ?? true) refs.set(ref, objectId);
    applied.add(keyOf({ pushId: recorded.metadata.commandId, ref }));
    ({ revision, position } = recorded);
  }
  return { refs, revision, position, applied };
}

async function append(
  deps: RefRecorderDeps,
  subject: Subject,
  expected: ExpectedRevision,
  changes: readonly RefChange<PushedRef & PushIntent>[],
): Promise<bigint | undefined> {
  const stream = repositoryStream(subject.projectId);
  let revision = expected;
  let position: bigint | undefined;
  for (let at = 0; at < changes.length; at += eventsAtOnce) {
    const events: NewEvent[] = [];
    for (const change of changes.slice(at, at + eventsAtOnce)) {
      const next = (typeof revision === "bigint" ? revision + 1n : 0n) + BigInt(events.length);
      const metadata = change.push?.metadata ?? systemMetadata(deps, subject);
      const event = await refEvent(subject.repository, change, metadata);
      // The id derives from revision and content: the same event at the same revision is a repetition, another
      // one is a lost race. By the revision alone the store would take one for the other.
      const id = deterministicId(stream, String(next), JSON.stringify(event), metadata.commandId);
      events.push({ ...event, id, metadata });
    }
    ({ position, revision } = await deps.store.append(stream, revision, events));
  }
  const outside = changes.filter(({ push }) => push === null).map(({ ref }) => ref);
  if (outside.length > 0) {
    deps.log.warn({ projectId: subject.projectId, refs: outside }, "refs changed from outside");
  }
  return position;
}

function systemMetadata({ now }: RefRecorderDeps, { projectId }: Subject): EventMetadata {
  const occurredAt = now().toISOString();
  const commandId = deterministicId("reconcile", projectId, occurredAt);
  return bySystem({ commandId, correlationId: `reconcile-${projectId}` }, occurredAt);
}
