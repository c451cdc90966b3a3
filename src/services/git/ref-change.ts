import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { EventMetadata } from "../../events/core/event.ts";
import type { Role } from "../../events/core/role.ts";
import { branchPrefix, tagPrefix } from "../../events/repository/repository.ts";
import { pathsTouched } from "../../git/push/gate.ts";
import {
  type RefUpdate,
  refInTheWay,
  type ServiceRefUpdate,
  type StartedUpdate,
  startUpdate,
  updateRefs,
} from "../../git/ref-update.ts";
import type { Repository } from "../../git/repository.ts";
import { breather } from "../../platform/breather.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { sqlState } from "../../platform/postgres-error.ts";
import { Refusal } from "../../platform/refusal.ts";
import { hasLocksOfOthers, lockedByOthers } from "../../projections/git/lfs-lock.ts";
import {
  type ProtectedProject,
  refChangeRefused,
  refProtections,
} from "../../projections/protection/applicable.ts";
import {
  changesOfCommand,
  dropIntents,
  intentsOf,
  type Push,
  type RequestedRef,
  takeOverIntents,
} from "./push-intent.ts";
import { type RefRecorder, type RefRecorderDeps, refRecorder } from "./ref-recorder.ts";

export type RefChangeDeps = RefRecorderDeps &
  Readonly<{ visible: (position: bigint | undefined) => Promise<void> }>;

/** A change of refs that the service itself makes, on behalf of an actor. */
export type RefOrder = Readonly<{
  project: ProtectedProject & Readonly<{ default_branch: string }>;
  /** Of whom the metadata names as the actor. */
  role: Role;
  /** Envelope of the events; the same command is carried out once. */
  metadata: EventMetadata;
  /**
   * Returns what to change, according to the read models. It is called again after a lost race, when
   * they show what came in between.
   *
   * @throws Refusal when it cannot be done
   */
  plan: (repository: Repository) => Promise<readonly RefUpdate[]>;
  /** Plans again after lost races, for a while; otherwise the caller gets the error of the first one. */
  retries?: boolean;
  /** Agreed on in a merge request: the rules about merging apply. */
  merging?: boolean;
  /**
   * Done beside the checks, and before the change is announced; repeated with each attempt. It runs no git that writes.
   *
   * @throws what refuses the change
   */
  first?: () => Promise<unknown>;
  /** Refs of the service's own that move with them. */
  kept?: readonly ServiceRefUpdate[];
}>;

export type RefsChanged = Readonly<{
  /** Log position that shows it. */
  position: bigint | undefined;
  /** Full ref name → where it went, null when it is gone. */
  refs: ReadonlyMap<string, string | null>;
}>;

/** An attempt this old is not under way any more; requests lose their Idempotency-Key later still. */
const attemptMaxMs = 20_000;

const uniqueViolation = "23505";

/** A request that lost a race runs before later requests of this process. */
const inTurn = keyedLock();

/** Other processes and pushes win races too: longer than any crowd of them lasts. */
const retryMaxMs = 30_000;
const pauseMaxMs = 250;
/** Of changes that must not be planned again: git itself has waited for the lock each time. */
const busyRetriesMax = 2;

/**
 * Changes refs as a push does: checked against the rules, announced before git runs, all or none,
 * recorded before the caller gets its answer; see docs/adr/0027-refs-by-the-service.md. A command that
 * was carried out before is answered again.
 *
 * @throws Refusal 403 `branch.protected`, `tag.protected`; 409 `branch.moved`, `tag.moved`;
 *   404 `commit.gone`; 422 `branch.exists`, `tag.exists`, `ref.name_conflict`, and for deleting a default or
 *   protected branch; 503 `git.busy` when a lock was not given back, and after all retries
 */
export async function changeRefs(deps: RefChangeDeps, order: RefOrder): Promise<RefsChanged> {
  const { project, retries = false } = order;
  const earlier = await changedEarlier(deps, order);
  if (earlier.refs.size > 0) return earlier;
  const repository = await deps.git.ensure(project.id, project.default_branch);
  const until = performance.now() + retryMaxMs;
  for (let attempt = 0; ; attempt += 1) {
    const tryIt = () => attemptOnce(deps, order, repository);
    const waits = attempt > 0 || inTurn.isHeld(project.id);
    const tried = await (waits ? inTurn(project.id, tryIt) : tryIt());
    if (!("lost" in tried)) return tried;
    await deps.visible(tried.position);
    // The change that won may be of this same command, sent twice.
    const twin = await changedEarlier(deps, order);
    if (twin.refs.size > 0) return twin;
    if (await areDeleted(repository, tried.lost)) {
      // By an attempt that was not answered: once that shows, the plan says that they are gone.
      await deps.visible(await refRecorder(deps).reconcile(project.id));
      await order.plan(repository);
    }
    const why = await whyNot(repository, tried.lost);
    const mayPass = retries
      ? !finalCodes.has(why.code)
      : why.code === busyCode && attempt < busyRetriesMax;
    if (!mayPass) throw why;
    if (performance.now() > until) throw busy();
    // Those of other processes wait for times of their own.
    await delay(Math.random() * Math.min(pauseMaxMs, 10 * 2 ** attempt));
  }
}

type Tried = RefsChanged | Readonly<{ lost: readonly RefUpdate[]; position: bigint | undefined }>;

async function attemptOnce(
  deps: RefChangeDeps,
  order: RefOrder,
  repository: Repository,
): Promise<Tried> {
  const updates = await order.plan(repository);
  if (updates.length === 0) return { position: undefined, refs: new Map() };
  let started: StartedUpdate | undefined;
  const start = (): void => {
    started = startUpdate(repository);
  };
  try {
    await mustBeReady(deps, order, { repository, updates, start });
  } catch (error) {
    started?.drop();
    throw error;
  }
  const { metadata, project, kept = [] } = order;
  const of = { pushId: metadata.commandId, projectId: project.id, metadata };
  const push = { ...of, refs: updates, announcedAt: deps.now() };
  const recorder = refRecorder(deps);
  let isShared: boolean;
  try {
    isShared = await announce(deps, recorder, push);
  } catch (error) {
    started?.drop();
    throw error;
  }
  let isDone: boolean;
  try {
    isDone = await updateRefs(repository, updates, { kept, ...(started && { started }) });
  } catch (error) {
    // Whether it happened is not known: the refs show it.
    await recorder.finish(push, undefined);
    throw error;
  }
  const refs = isDone ? updates.map(({ ref }) => ref) : [];
  // A shared intent still explains what the other attempt may have made.
  const position = await recorder.finish(push, isDone || !isShared ? new Set(refs) : undefined);
  if (!isDone) return { lost: updates, position };
  return { position, refs: new Map(updates.map(({ ref, after }) => [ref, after])) };
}

/**
 * Stores the intents. Answers true where an earlier attempt at the same command, which most likely is dead, left the
 * same ones: they explain the change whichever of both makes it.
 *
 * @throws Refusal 409 `idempotency.in_progress` where that attempt wants something else
 */
async function announce(
  { db }: RefChangeDeps,
  recorder: Pick<RefRecorder, "begin">,
  push: Push,
): Promise<boolean> {
  try {
    await recorder.begin(push);
    return false;
  } catch (error) {
    if (sqlState(error) !== uniqueViolation) throw error;
  }
  const announced = await intentsOf(db, push.projectId, push.pushId);
  const isSame = ({ ref, before, after }: RequestedRef): boolean =>
    announced.some((one) => one.ref === ref && one.before === before && one.after === after);
  if (announced.length !== push.refs.length || !push.refs.every(isSame)) throw stillUnderWay();
  await takeOverIntents(db, push);
  return true;
}

type Attempt = Readonly<{
  repository: Repository;
  updates: readonly RefUpdate[];
  /** Starts git, which takes its share of what may write at a time: not before checks that take long. */
  start: () => void;
}>;

/** @throws Refusal of `first`, of the rules or of locks, in this order, once none of them is under way */
async function mustBeReady(deps: RefChangeDeps, order: RefOrder, attempt: Attempt): Promise<void> {
  const checks = await Promise.allSettled([
    order.first?.(),
    mustBeAllowed(deps, order, attempt.repository, attempt.updates),
    mustNotBeLocked(deps, order, attempt),
  ]);
  for (const check of checks) if (check.status === "rejected") throw check.reason;
}

/** What an attempt at the same command did that did not live to answer. */
export async function changedEarlier(
  deps: RefChangeDeps,
  order: Readonly<{
    project: Pick<RefOrder["project"], "id">;
    metadata: Pick<EventMetadata, "commandId">;
  }>,
): Promise<RefsChanged> {
  const { commandId } = order.metadata;
  const projectId = order.project.id;
  const changes = await changesOfCommand(deps.db, projectId, commandId);
  if (!changes.announced) return { position: undefined, refs: changes.refs };
  const intents = await intentsOf(deps.db, projectId, commandId);
  const position = await refRecorder(deps).reconcile(projectId);
  await deps.visible(position);
  const before = deps.now().getTime() - attemptMaxMs;
  const dead = intents.filter(({ createdAt }) => createdAt.getTime() < before);
  await dropIntents(deps.db, dead);
  return { position, refs: (await changesOfCommand(deps.db, projectId, commandId)).refs };
}

/**
 * What `changeRefs` checks before it changes anything, for plans that would work in vain otherwise.
 *
 * @throws Refusal 403, 422 as there
 */
export async function mustBeAllowed(
  deps: Pick<RefChangeDeps, "db">,
  { project, role, merging = false }: Pick<RefOrder, "project" | "role" | "merging">,
  repository: Repository,
  updates: readonly RefUpdate[],
): Promise<void> {
  const protections = await refProtections(deps.db, project);
  const breathe = breather();
  for (const update of updates) {
    await breathe();
    const { ref, before, after } = update;
    const deletes = before !== null && after === null;
    if (deletes && ref === branchPrefix + project.default_branch) {
      const message = "The default branch cannot be deleted.";
      throw new Refusal("unprocessable", "branch.default", message);
    }
    const protection = protections.of(ref);
    if (protection === null) continue;
    const moves = before !== null && after !== null && ref.startsWith(branchPrefix);
    const forced = moves && !(await repository.isAncestor(before, after));
    const why = refChangeRefused(protection, role, { ...update, forced, merging });
    if (why === undefined) continue;
    const kind = deletes && protection.kind === "BRANCH" ? "unprocessable" : "forbidden";
    throw new Refusal(kind, `${nounOf(ref)}.protected`, `${nameOf(ref)}: ${why}.`);
  }
}

/**
 * New commits change no file that others have locked; as a push is held against them. Where nobody else has locks, git
 * is started beside the other checks.
 */
async function mustNotBeLocked(
  { db }: Pick<RefChangeDeps, "db">,
  { project, metadata }: RefOrder,
  { repository: { gitDir }, updates, start }: Attempt,
): Promise<void> {
  const { userId } = metadata.actor;
  if (
    updates.every(({ after }) => after === null) ||
    !(await hasLocksOfOthers(db, project.id, userId))
  ) {
    start();
    return;
  }
  const objects = path.join(gitDir, "objects");
  const paths = [...(await pathsTouched({ gitDir, objects }, updates))];
  const [lock] = await lockedByOthers(db, project.id, { userId, paths });
  if (lock === undefined) return;
  const message = `${lock.path} is locked by ${lock.locked_by_alias}.`;
  throw new Refusal("conflict", "lfs_lock.of_others", message);
}

/** True when nothing but deletions was wanted, of refs that are gone. */
async function areDeleted(repository: Repository, lost: readonly RefUpdate[]): Promise<boolean> {
  if (lost.some(({ after }) => after !== null)) return false;
  const now = await repository.refs(lost.map(({ ref }) => ref));
  return lost.every(({ ref }) => !now.has(ref));
}

async function whyNot(repository: Repository, lost: readonly RefUpdate[]): Promise<Refusal> {
  const now = await repository.refs(lost.map(({ ref }) => ref));
  for (const { ref, before } of lost) {
    const noun = nounOf(ref);
    if (before === null && now.has(ref)) {
      const message = `There is a ${noun} ${nameOf(ref)} already.`;
      return new Refusal("unprocessable", `${noun}.exists`, message);
    }
    if ((now.get(ref) ?? null) !== before) {
      const message = `The ${noun} ${nameOf(ref)} was changed by a concurrent request. Fetch it and try again.`;
      return new Refusal("conflict", `${noun}.moved`, message);
    }
    const other = before === null ? await refInTheWay(repository, ref) : undefined;
    if (other !== undefined) {
      const message = `${nameOf(ref)} conflicts with ${nameOf(other)}: git allows no ref below another one. Choose another name.`;
      return new Refusal("unprocessable", "ref.name_conflict", message);
    }
  }
  for (const { after } of lost) {
    // What this process read before may have been collected since.
    if (after === null || (await repository.holds(after))) continue;
    const message = `The repository no longer has the commit ${after}.`;
    return new Refusal("not_found", "commit.gone", message);
  }
  return busy();
}

/** No later attempt ends differently. */
const finalCodes: ReadonlySet<string> = new Set(["ref.name_conflict", "commit.gone"]);
const busyCode = "git.busy";

function busy(): Refusal {
  const message = "Another request is changing the repository. Try again in a moment.";
  return new Refusal("unavailable", busyCode, message, { retryAfterSeconds: 1 });
}

function stillUnderWay(): Refusal {
  const message = "An earlier attempt at the same request is still running. Try again in a moment.";
  return new Refusal("conflict", "idempotency.in_progress", message, { retryAfterSeconds: 1 });
}

const nounOf = (ref: string): string => (ref.startsWith(tagPrefix) ? "tag" : "branch");
const nameOf = (ref: string): string => ref.split("/").slice(2).join("/");
