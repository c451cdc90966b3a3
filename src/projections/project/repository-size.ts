import type { Knex } from "knex";

import {
  heldBytes,
  mustHaveRoom,
  noLimit,
  openRoom,
  type Quota,
  type Room,
} from "../../platform/blob/room.ts";
import { containerBytes } from "../container/manifest.ts";
import { lfsBytes } from "../git/lfs-object.ts";
import { packageBytes } from "../package/total.ts";
import { bytesBroughtInto } from "./brought-bytes.ts";
import type { ProjectRow } from "./project.ts";

type Measurable = Readonly<{ bytes: () => Promise<number> }>;

/** More than any repository: no limit of the project's own. */
const unlimited = Number.MAX_SAFE_INTEGER;

/** How much a project may take, see `bytesTaken`; null: there is no limit. */
export function allowedBytes(
  { allowed_bytes }: Pick<ProjectRow, "allowed_bytes">,
  instanceMax: number | null,
): number | null {
  return allowed_bytes === null ? instanceMax : Number(allowed_bytes);
}

/**
 * What a project takes: its repository, the LFS objects it has, its packages with what its proxies keep, files of
 * releases, uploaded files, artifacts and finished logs of jobs; not what requests of others than members brought and
 * nobody merged. Content that projects share counts in each of them: what
 * one removes, the others still have.
 */
export async function bytesTaken(
  db: Knex,
  projectId: string,
  repository: Measurable,
): Promise<number> {
  const sums = await Promise.all([
    repository.bytes(),
    lfsBytes(db, projectId),
    packageBytes(db, projectId),
    containerBytes(db, projectId),
    fileBytes(db, projectId),
  ]);
  const all = sums.reduce((sum, bytes) => sum + bytes, 0);
  return Math.max(0, all - (await bytesBroughtInto(db, projectId)));
}

/** Files of releases, uploaded files, artifacts and finished logs of jobs, and what proxies of the project keep. */
async function fileBytes(db: Knex, projectId: string): Promise<number> {
  const { rows } = await db.raw<{ rows: readonly Readonly<{ bytes: string }>[] }>(
    `select coalesce(sum(bytes), 0) as bytes from (
       select file.bytes from release
         join release_file as file on file.release_id = release.id
         where release.project_id = :projectId
       union all
       select bytes from uploaded_file where project_id = :projectId and not is_by_outsider
       union all
       select bytes from job_artifact where project_id = :projectId
       union all
       select bytes from job_log where project_id = :projectId
       union all
       select content.bytes from registry_repository as repository
         join public.proxy_content as content on content.repository_id = repository.id::text
         where repository.owner_id = :projectId
     ) as file`,
    { projectId },
  );
  return Number(rows[0]?.bytes ?? 0);
}

type Limited = Pick<ProjectRow, "id" | "allowed_bytes">;

type Sized = Readonly<{
  db: Knex;
  git: Readonly<{ find: (projectId: string) => Promise<Measurable | undefined> }>;
  config: Readonly<{ projectBytesMax: number | null }>;
}>;

/** What may still come beside what is on its way, measured now when there is a limit; zero when the project is full. */
export const projectBytesLeft =
  ({ db, git, config }: Sized) =>
  async (project: Limited): Promise<number> => {
    const quota = quotaOf(project, { db, git, config });
    if (quota === undefined) return unlimited;
    const held = await heldBytes(db, quota.key);
    return Math.max(0, quota.allowedBytes - held - (await quota.takenBytes()));
  };

/** Undefined: there is no limit. */
function quotaOf(project: Limited, { db, git, config }: Sized): Quota | undefined {
  const allowed = allowedBytes(project, config.projectBytesMax);
  if (allowed === null) return undefined;
  const takenBytes = async () =>
    bytesTaken(db, project.id, (await git.find(project.id)) ?? noRepository);
  return { key: `project ${project.id}`, allowedBytes: allowed, takenBytes };
}

/** Room for a file that comes, to be given back once it can be seen. */
export function roomInProject(project: Limited, deps: Sized, expectedBytes?: number): Room {
  const quota = quotaOf(project, deps);
  return quota === undefined ? noLimit : openRoom(deps.db, quota, expectedBytes);
}

/**
 * Room for what git writes into the repository as it comes.
 *
 * @param came how much of it the measurement counts already
 */
export function roomInRepository(project: Limited, deps: Sized, came: () => number): Room {
  const quota = quotaOf(project, deps);
  if (quota === undefined) return noLimit;
  const takenBytes = async () => Math.max(0, (await quota.takenBytes()) - came());
  return openRoom(deps.db, { ...quota, takenBytes });
}

/** Room for what comes now and has so many bytes. @throws Refusal 413 `project.full` */
export const holdInProject =
  (deps: Sized) =>
  async (project: Limited, bytes: number): Promise<Room> => {
    const quota = quotaOf(project, deps);
    return quota === undefined ? noLimit : await mustHaveRoom(deps.db, quota, bytes);
  };

export const noRepository: Measurable = { bytes: async () => 0 };

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
