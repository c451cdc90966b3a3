import type { Knex } from "knex";

import { owners } from "../team/owner.ts";

/** Who requests a list of images. */
export type CatalogReader =
  | Readonly<{ userId: string; projectId: string | undefined }>
  /** A job without a known person may read the images of its project. */
  | Readonly<{ userId: null; projectId: string }>
  | Readonly<{ userId: null; projectId: undefined; isInstanceOpen: boolean }>;

export type CatalogName = Readonly<{
  /** Of the repository: `anna/forge/images`, `company/acme/images`, `instance/images`. */
  path: string;
  image: string;
}>;

export type CatalogPage = Readonly<{ after: CatalogName; limit: number }>;

const hasRole = (owner: string, parents: string): string => `(
  ${owner} = :userId or exists (
    select from member where user_id = :userId and parent_id in (${parents})
  )
)`;

const readableByUser = `(
  project.id is not null and (not project.is_private
    or ${hasRole("owner.user_id", "project.id, project.owner_id, owner.company_id")})
  or company.id is not null and (not company.is_private or ${hasRole("company.owner_id", "company.id")})
  or registry.owner_type = 'INSTANCE'
)`;

const readableByAll = `(
  (registry.settings ->> 'hasAnonymousAccess')::boolean
  or (registry.owner_type = 'INSTANCE' and :isInstanceOpen)
)`;

/** The local repositories of container images that the caller may read. */
function repositories(reader: CatalogReader): string {
  const ofProject = reader.projectId === undefined ? "true" : "project.id = :projectId";
  const isOfJob = reader.projectId !== undefined;
  const ofAll = isOfJob ? "true" : readableByAll;
  const ofUser = isOfJob ? readableByUser : `(${readableByUser} or ${readableByAll})`;
  const readable = reader.userId === null ? ofAll : ofUser;
  return `
    select registry.id::text as registry_id, lower(
      case
        when project.id is not null then owner.alias || '/' || project.alias
        when company.id is not null then 'company/' || company.alias
        when registry.owner_type = 'INSTANCE' then 'instance'
      end || '/' || registry.name
    ) collate "C" as path
    from registry_repository as registry
    left join project on project.deleted_at is null
      and project.id = case when registry.owner_type = 'PROJECT' then registry.owner_id::uuid end
    left join ${owners} on owner.id = project.owner_id
    left join company on company.deleted_at is null
      and company.id = case when registry.owner_type = 'COMPANY' then registry.owner_id::uuid end
    where registry.package_type = 'container' and registry.settings ->> 'type' = 'LOCAL'
      and ${ofProject} and ${readable}`;
}

/**
 * Images that local repositories of container images hold, by the path of the repository and their name in it. A page
 * reads the images of no more repositories than it has images: each of them has one at least. Decides as the access to
 * one repository does.
 */
export async function listCatalog(
  db: Knex,
  reader: CatalogReader,
  { after, limit }: CatalogPage,
): Promise<readonly CatalogName[]> {
  const { rows } = await db.raw<{ rows: readonly CatalogName[] }>(
    `select repository.path, image.name as image
     from (
       select registry_id, path from (${repositories(reader)}) as registry
       where path >= :path and exists (
         select from package
         where registry_id = registry.registry_id and is_live and (registry.path > :path or name > :image)
       )
       order by path limit :limit
     ) as repository
     cross join lateral (
       select name from package
       where registry_id = repository.registry_id and is_live
         and (repository.path > :path or name > :image)
       order by name limit :limit
     ) as image
     order by repository.path, image.name
     limit :limit`,
    {
      userId: reader.userId,
      projectId: reader.projectId ?? null,
      isInstanceOpen: "isInstanceOpen" in reader && reader.isInstanceOpen,
      ...after,
      limit,
    },
  );
  return rows;
}
