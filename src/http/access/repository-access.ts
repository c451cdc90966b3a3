import type { Commit } from "../../git/object/object.ts";
import type { Repository } from "../../git/repository.ts";
import { Refusal } from "../../platform/refusal.ts";

/**
 * A commit that another one or a branch leads to, which is here.
 *
 * @throws Refusal 422 `commit.too_large`: it is more than can be read as one
 */
export async function mustReadCommit({ objects }: Repository, id: string): Promise<Commit> {
  const commit = await objects.commit(id);
  if (commit !== undefined) return commit;
  const message = `The commit ${id} is too large to be worked with here. Do it in a clone.`;
  throw new Refusal("unprocessable", "commit.too_large", message);
}
