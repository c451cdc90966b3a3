import type { Knex } from "knex";

import { branchPrefix, tagPrefix } from "../../../events/repository/repository.ts";
import { isObjectId } from "../../../git/name.ts";
import type { Commit } from "../../../git/object/object.ts";
import type { Repository } from "../../../git/repository.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findProjectById,
  type ProjectRow,
  projectProjection,
} from "../../../projections/project/project.ts";
import { findRef, gitRefProjection } from "../../../projections/repository/git-ref.ts";
import type { AsOf } from "../../core/as-of.ts";
import type { Deps } from "../../core/deps.ts";

export type FoundCommit = Readonly<{
  repository: Repository;
  commit: Commit;
  /** The name is a full hash, which means this commit for ever: what follows from it is immutable. */
  lasting: boolean;
}>;

/** Refs as they were; what they point to is read from the repository as it is. */
export const refsAsOf: AsOf = {
  readModels: [gitRefProjection, projectProjection],
  again: findProjectById,
  anyLength: true,
};

type Project = Pick<ProjectRow, "id" | "default_branch">;

/** Of the description of a parameter. */
export const revisionText =
  "A full hash, a unique abbreviation of 7 or more digits, a branch, a tag, `HEAD`, or a full ref name.";

/**
 * The commit that a request names. A full hash is a commit, whatever else has that name: a branch
 * cannot take the place of a commit. Of a branch and a tag of one name it is the branch.
 *
 * @throws Refusal 404 `commit.not_found`, 422 `commit.ambiguous` for an abbreviation of several
 */
export async function mustFindCommit(
  { db, git, past }: Pick<Deps, "db" | "git" | "past">,
  project: Project,
  name: string,
): Promise<FoundCommit> {
  const hash = name.toLowerCase();
  const lasting = isObjectId(hash);
  const repository = await git.find(project.id);
  if (repository !== undefined) {
    const id = lasting ? hash : await commitOf(db, project, repository, name);
    const commit = id === undefined ? undefined : await heldCommit(repository, id, past);
    if (commit !== undefined) return { repository, commit, lasting };
    if (past && id !== undefined && !lasting) {
      const message = `${name} was at ${id} then, which the repository no longer holds.`;
      throw new Refusal("not_found", "commit.gone", message);
    }
  }
  throw new Refusal("not_found", "commit.not_found", "There is no such commit.");
}

/** Of the past only what git itself still finds: what a deleted branch pointed to is pruned some day. */
async function heldCommit(repository: Repository, id: string, past: Deps["past"]) {
  const commit = await repository.objects.commit(id);
  return commit !== undefined && past && !(await repository.holds(id)) ? undefined : commit;
}

/**
 * The same for a parameter that primarily names a branch.
 *
 * @throws Refusal 404 `branch.not_found`, 422 `commit.ambiguous`
 */
export async function mustFindRevision(
  deps: Pick<Deps, "db" | "git" | "past">,
  project: Project,
  name: string,
): Promise<FoundCommit> {
  try {
    return await mustFindCommit(deps, project, name);
  } catch (error) {
    if (!(error instanceof Refusal && error.code === "commit.not_found")) throw error;
    const message = `There is no branch, tag or commit "${name}".`;
    throw new Refusal("not_found", "branch.not_found", message);
  }
}

async function commitOf(db: Knex, project: Project, repository: Repository, name: string) {
  const ref = await refNamed(db, project, name);
  if (ref !== undefined) return ref.commit_id ?? undefined;
  if (!/^[0-9a-f]{7,63}$/i.test(name)) return undefined;
  const [id, other] = await repository.commitsAbbreviated(name.toLowerCase());
  if (other === undefined) return id;
  const message = `Several commits begin with ${name}: give more digits.`;
  throw new Refusal("unprocessable", "commit.ambiguous", message);
}

async function refNamed(db: Knex, project: Project, name: string) {
  const { id, default_branch: head } = project;
  if (name === "HEAD") return findRef(db, id, "branch", head);
  if (name.startsWith(branchPrefix)) {
    return findRef(db, id, "branch", name.slice(branchPrefix.length));
  }
  if (name.startsWith(tagPrefix)) return findRef(db, id, "tag", name.slice(tagPrefix.length));
  return (await findRef(db, id, "branch", name)) ?? (await findRef(db, id, "tag", name));
}
