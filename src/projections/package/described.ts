import type { Knex } from "knex";

export type DescribedArtifact = Readonly<{ artifact_id: string; metadata: string }>;

/** Until all files of a new version are there, the one before it is read. */
const versionsMax = 3;
const artifactsMax = 10_000;

/** Artifacts of a group of Maven with what is kept of a file of one of their newest versions. */
export async function describedInGroup(
  db: Knex,
  registryIds: readonly string[],
  groupId: string,
): Promise<readonly DescribedArtifact[]> {
  const ids = [...registryIds];
  // The name of a package is `group:artifact`, and packages have an index by name.
  const { rows } = await db.raw<{ rows: readonly DescribedArtifact[] }>(
    `select p.artifact_id, described.metadata
       from package p
      cross join lateral (
        select file.metadata
          from (select id, created_position from package_version
                 where package_id = p.id and deleted_at is null
                 order by created_position desc, id limit ?) newest
          join package_file file on file.package_version_id = newest.id
         where file.metadata is not null
         order by newest.created_position desc, file.name
         limit 1) described
      where p.registry_id = any(?::text[]) and p.is_live
        and starts_with(p.name, ?) and p.group_id = ?
      order by array_position(?::text[], p.registry_id), p.artifact_id
      limit ?`,
    [versionsMax, ids, `${groupId}:`, groupId, ids, artifactsMax],
  );
  return rows;
}
