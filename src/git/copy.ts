import { GitFailure } from "./failure.ts";
import { copyPack, type PackCopy } from "./pack-copy.ts";
import { updateRefs } from "./ref-update.ts";
import type { Refs, Repository } from "./repository.ts";

/** The largest known repositories are copied in minutes; see git-pack-objects(1). */
const timeoutMs = 60 * 60_000;

/**
 * Copies everything that the refs reach from one repository into another, then makes the refs there,
 * all or none. Nothing is shared afterwards: either repository may go. One that has any of the refs
 * already is left as it is.
 *
 * @param reach takes room for so many bytes in all
 * @returns whether this call made the refs
 * @throws GitFailure when the objects could not be copied or the refs not be made; what `reach` throws
 */
export async function copyRepository(
  from: Repository,
  to: Repository,
  refs: Refs,
  reach?: PackCopy["reach"],
): Promise<boolean> {
  if (refs.size === 0) return true;
  const revisions = [...new Set(refs.values())];
  await copyPack(from, to, { revisions, timeoutMs, ...(reach && { reach }) });
  const updates = [...refs].map(([ref, after]) => ({ ref, before: null, after }));
  if (await updateRefs(to, updates)) return true;
  const there = await to.refs([...refs.keys()]);
  if (there.size > 0) return false;
  throw new GitFailure("update-ref", null, "none of the refs could be made");
}
