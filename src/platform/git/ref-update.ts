import { removeDeadLocks } from "./bytes.ts";
import { isRefName } from "./name.ts";
import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";

/** A ref and where it shall go from where it stands; null where there is, or shall be, none. */
export type RefUpdate = Readonly<{ ref: string; before: string | null; after: string | null }>;

const exitDenied = 128;

/**
 * Changes refs, all or none; git-update-ref(1). The transaction is ended by its last word, not by
 * the end of input: a process that dies while it writes changes nothing.
 *
 * @returns false when git did not: a ref is not where it was said to be, another name is in its
 *   place, or somebody holds a lock
 */
export async function updateRefs(
  { gitDir }: Repository,
  updates: readonly RefUpdate[],
): Promise<boolean> {
  const commands = updates.map(commandOf);
  const input = ["start", ...commands, "prepare", "commit", ""].join("\n");
  const options = { input, okCodes: [0, exitDenied], writes: true, changesRefs: true } as const;
  const update = async (): Promise<boolean> =>
    (await runGit(gitDir, ["update-ref", "--stdin"], options)).exitCode === 0;
  if (await update()) return true;
  const refs = updates.map(({ ref }) => ref);
  return (await removeDeadLocks(gitDir, refs)) && (await update());
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
