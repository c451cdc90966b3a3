import type { Knex } from "knex";

import { normaliseAlias } from "../../events/core/ids.ts";
import type { OwnerType } from "../../events/project/project.ts";

/** Who projects can belong to, whatever kind they are of: aliases are unique among all three. */
export type OwnerRow = Readonly<{
  id: string;
  type: OwnerType;
  alias: string;
  alias_normalised: string;
  /** The person it belongs to in the end. */
  user_id: string;
  /** The company it is or belongs to. */
  company_id: string | null;
}>;

/**
 * A table expression named `owner`; conditions on `id` and `alias_normalised` reach the indexes. For
 * that the parts of the union are plain: PostgreSQL reads one with a condition or a join of its own as
 * a whole, for every row that looks for an owner.
 */
export const owners = `(
  select any_owner.id, any_owner.type, any_owner.alias, any_owner.alias_normalised,
    coalesce(parent.owner_id, any_owner.owner_id) as user_id,
    coalesce(parent.id, any_owner.own_company_id) as company_id
  from (
    select id, 'USER' as type, alias, alias_normalised, id as owner_id,
      null::uuid as own_company_id, null::timestamptz as deleted_at
    from app_user
    union all
    select id, 'TEAM', alias, alias_normalised, owner_id, null::uuid, deleted_at from team
    union all
    select id, 'COMPANY', alias, alias_normalised, owner_id, id, deleted_at from company
  ) as any_owner
  left join company as parent on parent.id = any_owner.owner_id
  where any_owner.deleted_at is null
) as owner`;

export function findOwner(db: Knex, alias: string): Promise<OwnerRow | undefined> {
  return db
    .from<OwnerRow>(db.raw(owners))
    .where("alias_normalised", normaliseAlias(alias))
    .first<OwnerRow | undefined>("owner.*");
}

/** Whether something still belongs to a team or company: then it cannot go. */
export async function owns(db: Knex, ownerId: string): Promise<boolean> {
  const teams = db("team").where("owner_id", ownerId).whereNull("deleted_at").select("id");
  const projects = db("project").where("owner_id", ownerId).whereNull("deleted_at").select("id");
  return (await teams.unionAll(projects).limit(1)).length > 0;
}
