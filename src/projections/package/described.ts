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

export type UndescribedArtifact = Readonly<{ artifact_id: string; sha256: string }>;

/**
 * Artifacts of a group of Maven that are called plugins and have a jar of at most so many bytes, but nothing that is
 * kept of a file of one of their newest versions: jars that were stored before anything was.
 */
export async function undescribedPlugins(
  db: Knex,
  registryIds: readonly string[],
  groupId: string,
  { bytesMax, limit }: Readonly<{ bytesMax: number; limit: number }>,
): Promise<readonly UndescribedArtifact[]> {
  const ids = [...registryIds];
  const { rows } = await db.raw<{ rows: readonly UndescribedArtifact[] }>(
    `select p.artifact_id, jar.sha256
       from package p
      cross join lateral (
        select array_agg(id) as versions from (
          select id from package_version
           where package_id = p.id and deleted_at is null
           order by created_position desc, id limit ?) version) newest
      cross join lateral (
        select file.sha256 from package_file file
         where file.package_version_id = newest.versions[1] and file.bytes <= ?
           and file.name like '%.jar' and file.name !~ '-(sources|javadoc|tests)[.]jar$'
         order by length(file.name), file.name
         limit 1) jar
      where p.registry_id = any(?::text[]) and p.is_live
        and starts_with(p.name, ?) and p.group_id = ? and p.artifact_id like '%plugin%'
        and not exists (
          select from package_file file
           where file.package_version_id = any(newest.versions) and file.metadata is not null)
      order by array_position(?::text[], p.registry_id), p.artifact_id
      limit ?`,
    [versionsMax, bytesMax, ids, `${groupId}:`, groupId, ids, limit],
  );
  return rows;
}
