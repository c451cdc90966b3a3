import { isObjectId } from "../platform/git/name.ts";
import type { Commit } from "../platform/git/object.ts";
import type { Repository } from "../platform/git/repository.ts";
import { Refusal } from "../platform/refusal.ts";
import type { ProjectRow } from "../projections/project.ts";
import type { Deps } from "./deps.ts";

export type FoundCommit = Readonly<{ repository: Repository; commit: Commit }>;

/**
 * The commit a request names by its full hash. Everything else, abbreviations and options among it,
 * names no commit.
 *
 * @throws Refusal 404 `commit.not_found`
 */
export async function mustFindCommit(
  { git }: Pick<Deps, "git">,
  project: Pick<ProjectRow, "id">,
  hash: string,
): Promise<FoundCommit> {
  const id = hash.toLowerCase();
  const repository = isObjectId(id) ? await git.find(project.id) : undefined;
  const commit = await repository?.objects.commit(id);
  if (repository === undefined || commit === undefined) {
    throw new Refusal("not_found", "commit.not_found", "There is no such commit.");
  }
  return { repository, commit };
}

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
