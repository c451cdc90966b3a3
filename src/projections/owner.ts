import type { Knex } from "knex";

import { normaliseAlias } from "../events/ids.ts";
import type { OwnerType } from "../events/project.ts";

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

/** A table expression named `owner`; conditions on `id` and `alias_normalised` reach the indexes. */
export const owners = `(
  select id, 'USER' as type, alias, alias_normalised, id as user_id, null::uuid as company_id
  from app_user
  union all
  select team.id, 'TEAM', team.alias, team.alias_normalised,
    coalesce(company.owner_id, team.owner_id), company.id
  from team left join company on company.id = team.owner_id
  where team.deleted_at is null
  union all
  select id, 'COMPANY', alias, alias_normalised, owner_id, id
  from company
  where deleted_at is null
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
