import { decode } from "../../events/core/decode.ts";
import {
  refAfter,
  repositoryEvents,
  repositoryStream,
} from "../../events/repository/repository.ts";
import { type RefUpdate, updateRefs } from "../../git/ref-update.ts";
import type { GitRepositories } from "../../git/repositories.ts";
import type { Repository } from "../../git/repository.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { write } from "../write.ts";

const refsListedMax = 10;

type Moment = Readonly<{
  store: EventStore;
  projectId: string;
  /** Position of the last event that counts. */
  end: bigint;
}>;

/** `settleRefs` for a project, if it has a repository here; refs that cannot be settled are listed on stderr. */
export async function settleRefsOf(git: GitRepositories, moment: Moment): Promise<void> {
  const repository = await git.find(moment.projectId);
  if (repository === undefined) return;
  const left = await settleRefs(repository, moment);
  if (left.length === 0) return;
  const refs = left.slice(0, refsListedMax).join(", ");
  write(process.stderr, `Not as the log says in the repository of ${moment.projectId}: ${refs}\n`);
}

/** Of projects that came later the backup knows nothing. */
export async function hadBegun(
  store: EventStore,
  projectId: string,
  end: bigint,
): Promise<boolean> {
  for await (const { position } of store.readStream(`project-${projectId}`, 0n, 1)) {
    return position <= end;
  }
  return false;
}

/**
 * Moves branches, tags and notes of a copied repository to where the log had them at a position: pushes that came
 * while the copy was made are not part of it. Their objects stay, nothing leads to them.
 *
 * @returns refs that cannot be moved there, because what they led to was removed meanwhile
 */
async function settleRefs(
  repository: Repository,
  { store, projectId, end }: Moment,
): Promise<readonly string[]> {
  const [actual, wanted] = [await repository.refs(), await refsAt(store, projectId, end)];
  const removed = [...actual].filter(([ref]) => !wanted.has(ref));
  const moved = [...wanted].filter(([ref, id]) => actual.get(ref) !== id);
  // First, for a name that goes may be in the way of one that comes.
  return [
    ...(await update(
      repository,
      removed.map(([ref, before]) => ({ ref, before, after: null })),
    )),
    ...(await update(
      repository,
      moved.map(([ref, after]) => ({ ref, before: actual.get(ref) ?? null, after })),
    )),
  ];
}

async function refsAt(
  store: EventStore,
  projectId: string,
  end: bigint,
): Promise<ReadonlyMap<string, string>> {
  const refs = new Map<string, string>();
  for await (const recorded of store.readStream(repositoryStream(projectId))) {
    if (recorded.position > end) break;
    const { ref, objectId } = refAfter(decode(repositoryEvents, recorded));
    if (objectId === null) refs.delete(ref);
    else refs.set(ref, objectId);
  }
  return refs;
}

/** All at once, and where git refuses that, as many as it takes. @returns those that it does not */
async function update(
  repository: Repository,
  updates: readonly RefUpdate[],
): Promise<readonly string[]> {
  if (updates.length === 0 || (await updateRefs(repository, updates))) return [];
  const failed: string[] = [];
  for (const one of updates) if (!(await updateRefs(repository, [one]))) failed.push(one.ref);
  return failed;
}
