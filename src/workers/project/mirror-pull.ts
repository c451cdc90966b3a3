import { randomUUID } from "node:crypto";
import { handle } from "../../commands/core/handle.ts";
import { stepOf } from "../../commands/core/step.ts";
import { project } from "../../commands/project/project.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { type RefUpdate, updateRefs } from "../../git/ref-update.ts";
import { type Remote, RemoteFailure } from "../../git/remote.ts";
import type { Refs, Repository } from "../../git/repository.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { refChangeRefused, ruleProtections } from "../../projections/protection/applicable.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { refRecorder } from "../../services/git/ref-recorder.ts";

export type PullSubject = Readonly<{
  project: ProjectRow;
  repository: Repository;
  remote: Remote;
  /** Envelope of what the sync changes; a command id of its own is given to each step. */
  metadata: EventMetadata;
  signal: AbortSignal;
}>;

/**
 * Makes the branches and tags of the project those of the other repository. What comes is fetched
 * beside them first and then put in their place as a push would be: announced, made, recorded. So a
 * process that dies on the way leaves either the old refs or new ones that are accounted for.
 *
 * @returns names of refs that the project's rules forbid even an ADMIN to change so: they stay
 * @throws RemoteFailure
 */
export async function pull(deps: WorkerDeps, subject: PullSubject): Promise<readonly string[]> {
  const { repository, remote, signal } = subject;
  const here = await repository.refs();
  const there = await remote.refs();
  if (same(here, there.refs)) return [];
  const fetched = await remote.fetch();
  if (fetched.size === 0) throw sourceIsEmpty();
  signal.throwIfAborted();

  const { allowed, refused } = await held(deps, subject, changes(here, fetched));
  await followDefaultBranch(deps, subject, { here, fetched, head: there.head });
  signal.throwIfAborted();
  if (allowed.length > 0) await carryOut(deps, subject, allowed);
  return refused;
}

/** A server in trouble may answer that there is nothing, and all branches would go. */
function sourceIsEmpty(): RemoteFailure {
  const message = "The other repository has no branches or tags: those of the project stay.";
  return new RemoteFailure("mirror.source_empty", message);
}

function same(one: Refs, other: Refs): boolean {
  return one.size === other.size && [...one].every(([ref, id]) => other.get(ref) === id);
}

function changes(here: Refs, there: Refs): readonly RefUpdate[] {
  return [...new Set([...here.keys(), ...there.keys()])].sort().flatMap((ref) => {
    const [before, after] = [here.get(ref) ?? null, there.get(ref) ?? null];
    return before === after ? [] : [{ ref, before, after }];
  });
}

/** The rules hold for a mirror as for a push by an ADMIN. */
async function held(
  { db }: WorkerDeps,
  { project: row, repository }: PullSubject,
  updates: readonly RefUpdate[],
) {
  const protections = await ruleProtections(db, row);
  const allowed: RefUpdate[] = [];
  const refused: string[] = [];
  for (const update of updates) {
    const { ref, before, after } = update;
    const protection = protections.of(ref);
    const moved = protection !== null && before !== null && after !== null;
    const forced = moved && !(await repository.isAncestor(before, after));
    const why = refChangeRefused(protection, "ADMIN", { ...update, forced });
    if (why === undefined) allowed.push(update);
    else refused.push(ref);
  }
  return { allowed, refused };
}

type Heads = Readonly<{ here: Refs; fetched: Refs; head: string | undefined }>;

/** The project's own choice stays as long as there is such a branch. */
async function followDefaultBranch(
  { store, now }: WorkerDeps,
  { project: row, repository, metadata }: PullSubject,
  { fetched, head }: Heads,
): Promise<void> {
  if (head === undefined || !fetched.has(branchPrefix + head)) return;
  if (fetched.has(branchPrefix + row.default_branch)) return;
  await repository.setHead(head);
  const command = { type: "ChangeDefaultBranch", branch: head, at: now().toISOString() } as const;
  const own = stepOf(metadata, "default-branch");
  await handle(store, project, { id: row.id, command, metadata: own });
}

const isDeletion = ({ after }: RefUpdate): boolean => after === null;

function busy(): RemoteFailure {
  const message = "Branches or tags were changed at the same moment; it is tried again.";
  return new RemoteFailure("mirror.busy", message);
}

async function carryOut(
  deps: WorkerDeps,
  { project: row, repository, metadata }: PullSubject,
  updates: readonly RefUpdate[],
): Promise<void> {
  const recorder = refRecorder(deps);
  const pushId = randomUUID();
  const push = {
    pushId,
    projectId: row.id,
    metadata: { ...metadata, commandId: pushId },
    refs: updates,
  };
  await recorder.begin(push);
  let made = false;
  try {
    // What goes away goes first: `a` must be gone before `a/b` can come.
    for (const part of [updates.filter(isDeletion), updates.filter((one) => !isDeletion(one))]) {
      if (part.length > 0 && !(await updateRefs(repository, part))) throw busy();
    }
    made = true;
  } finally {
    // Undefined: what of it happened is seen in the repository.
    const refs = made ? new Set(updates.map(({ ref }) => ref)) : undefined;
    await deps.visible(await recorder.finish(push, refs));
  }
}
