import { removeDeadLocks } from "./bytes.ts";
import { isObjectId, isRefName } from "./name.ts";
import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";
import { serviceRef } from "./service-ref.ts";

/** A ref and where it shall go from where it stands; null where there is, or shall be, none. */
export type RefUpdate = Readonly<{ ref: string; before: string | null; after: string | null }>;

const exitDenied = 128;

/** A ref of the service's own that is pointed to an object, wherever it stood. */
export type ServiceRefUpdate = Readonly<{ ref: string; id: string }>;

/** A process of git that has been started to change refs, and changes none so far. */
export type StartedUpdate = Readonly<{
  run: (input: string) => Promise<boolean>;
  /** Lets it end without a change. */
  drop: () => void;
}>;

/**
 * Starts git before it is known how refs are to be changed, so that the time it takes to start is not waited for. Takes
 * no lock of a ref. The caller runs or drops it, and runs no other git that writes meanwhile: the number of writers is
 * limited, and each could wait for the others.
 */
export function startUpdate({ gitDir }: Pick<Repository, "gitDir">): StartedUpdate {
  let give: (input: string) => void = () => undefined;
  let refuse: (why: Error) => void = () => undefined;
  const input = new Promise<string>((resolve, reject) => {
    [give, refuse] = [resolve, reject];
  });
  const options = { input, okCodes: [0, exitDenied], writes: true, holds: "pushing" } as const;
  const running = runGit(gitDir, ["update-ref", "--stdin"], options);
  // A caller that drops it does not await the outcome.
  for (const promise of [input, running]) promise.catch(() => undefined);
  return {
    async run(text) {
      give(text);
      return (await running).exitCode === 0;
    },
    drop: () => refuse(new Error("No refs are changed")),
  };
}

/**
 * Changes refs, all or none; git-update-ref(1). The transaction is ended by its last word, not by
 * the end of input: a process that dies while it writes changes nothing.
 *
 * @param started for this repository before
 * @returns false when git did not: a ref is not where it was said to be, another name is in its
 *   way, or another process holds a lock
 */
export async function updateRefs(
  repository: Repository,
  updates: readonly RefUpdate[],
  {
    kept = [],
    started,
  }: Readonly<{ kept?: readonly ServiceRefUpdate[]; started?: StartedUpdate }> = {},
): Promise<boolean> {
  const input = transactionOf(updates, kept, started);
  if (await (started ?? startUpdate(repository)).run(input)) return true;
  const refs = [...updates, ...kept].map(({ ref }) => ref);
  const isFree = await removeDeadLocks(repository.gitDir, refs);
  return isFree && (await startUpdate(repository).run(input));
}

/** @throws Error for a name that is none of these refs; what was started ends then */
function transactionOf(
  updates: readonly RefUpdate[],
  kept: readonly ServiceRefUpdate[],
  started: StartedUpdate | undefined,
): string {
  try {
    const commands = [...updates.map(commandOf), ...kept.map(serviceCommandOf)];
    return ["start", ...commands, "prepare", "commit", ""].join("\n");
  } catch (error) {
    started?.drop();
    throw error;
  }
}

function serviceCommandOf({ ref, id }: ServiceRefUpdate): string {
  if (!serviceRef.test(ref) || !isObjectId(id)) throw new Error("Not a ref of the service");
  return `update ${ref} ${id}`;
}

function commandOf({ ref, before, after }: RefUpdate): string {
  if (!isRefName(ref)) throw new Error("Not the name of a branch or a tag");
  if (before === null && after === null) throw new Error("A change has an end");
  if (before === null) return `create ${ref} ${after}`;
  return after === null ? `delete ${ref} ${before}` : `update ${ref} ${after} ${before}`;
}

/**
 * A ref whose name cannot be kept beside this one, because one would be a directory of the other:
 * `a` and `a/b`. Undefined when there is none.
 */
export async function refInTheWay(
  repository: Repository,
  ref: string,
): Promise<string | undefined> {
  const parts = ref.split("/");
  const above = parts.slice(3).map((_, index) => parts.slice(0, index + 3).join("/"));
  const [found] = (await repository.refs(above)).keys();
  if (found !== undefined) return found;
  const { stdout } = await runGit(repository.gitDir, [
    "for-each-ref",
    "--count=1",
    "--format=%(refname)",
    "--",
    `${ref}/`,
  ]);
  return stdout.toString().trim() || undefined;
}
