import type { Knex } from "knex";

import type { ProjectRow } from "./project.ts";

type Measurable = Readonly<{ bytes: () => Promise<number> }>;

/** More than any repository: no limit of the project's own. */
const unlimited = Number.MAX_SAFE_INTEGER;

/** How large a project's repository may be; null: there is no limit. */
export function allowedBytes(
  { allowed_bytes }: Pick<ProjectRow, "allowed_bytes">,
  instanceMax: number | null,
): number | null {
  return allowed_bytes === null ? instanceMax : Number(allowed_bytes);
}

/** What may still come, measured now when there is a limit; zero when it is full. */
export async function bytesLeft(
  project: Pick<ProjectRow, "allowed_bytes">,
  repository: Measurable,
  instanceMax: number | null,
): Promise<number> {
  const allowed = allowedBytes(project, instanceMax);
  if (allowed === null) return unlimited;
  return Math.max(0, allowed - (await repository.bytes()));
}

type Sized = Readonly<{
  git: Readonly<{ find: (projectId: string) => Promise<Measurable | undefined> }>;
  config: Readonly<{ projectBytesMax: number | null }>;
}>;

/** The same by a project alone; one without a repository is empty. */
export const projectBytesLeft =
  ({ git, config }: Sized) =>
  async (project: Pick<ProjectRow, "id" | "allowed_bytes">): Promise<number> =>
    bytesLeft(project, (await git.find(project.id)) ?? empty, config.projectBytesMax);

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
