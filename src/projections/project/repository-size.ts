import type { Knex } from "knex";

import { containerBytes } from "../container/manifest.ts";
import { lfsBytes } from "../git/lfs-object.ts";
import { packageBytes } from "../package/registry.ts";
import type { ProjectRow } from "./project.ts";

type Measurable = Readonly<{ bytes: () => Promise<number> }>;

/** More than any repository: no limit of the project's own. */
const unlimited = Number.MAX_SAFE_INTEGER;

/** How much a project's repository and its LFS objects may take; null: there is no limit. */
export function allowedBytes(
  { allowed_bytes }: Pick<ProjectRow, "allowed_bytes">,
  instanceMax: number | null,
): number | null {
  return allowed_bytes === null ? instanceMax : Number(allowed_bytes);
}

/**
 * What a project takes: its repository, its packages and the LFS objects it has. Content that
 * projects share counts in each of them: what one removes, the others still have.
 */
export async function bytesTaken(
  db: Knex,
  projectId: string,
  repository: Measurable,
): Promise<number> {
  const [objects, lfs, packages, containers] = await Promise.all([
    repository.bytes(),
    lfsBytes(db, projectId),
    packageBytes(db, projectId),
    containerBytes(db, projectId),
  ]);
  return objects + lfs + packages + containers;
}

type Sized = Readonly<{
  db: Knex;
  git: Readonly<{ find: (projectId: string) => Promise<Measurable | undefined> }>;
  config: Readonly<{ projectBytesMax: number | null }>;
}>;

/** What may still come, measured now when there is a limit; zero when the project is full. */
export const projectBytesLeft =
  ({ db, git, config }: Sized) =>
  async (project: Pick<ProjectRow, "id" | "allowed_bytes">): Promise<number> => {
    const allowed = allowedBytes(project, config.projectBytesMax);
    if (allowed === null) return unlimited;
    const repository = (await git.find(project.id)) ?? empty;
    return Math.max(0, allowed - (await bytesTaken(db, project.id, repository)));
  };

const empty: Measurable = { bytes: async () => 0 };

export async function keepRepositorySize(
  db: Knex,
  projectId: string,
  bytes: number,
  measuredAt: Date,
): Promise<void> {
  await db("repository_size")
    .insert({ project_id: projectId, bytes, measured_at: measuredAt })
    .onConflict("project_id")
    .merge();
}
