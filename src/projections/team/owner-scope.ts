import type { Knex } from "knex";

import type { ParentType } from "../../events/core/role.ts";
import { findProjectById } from "../project/project.ts";
import { findCompanyById } from "./company.ts";
import { findTeamById } from "./team.ts";

/** What has members, whichever of the three it is. */
export type ParentRow = Readonly<{
  id: string;
  type: ParentType;
  title: string;
  /** The person it belongs to in the end. */
  ownerUserId: string;
  /** Where it is in the interface, and how it is named to people. */
  path: string;
}>;

/** Undefined when it was deleted, or never was. */
export async function findParent(
  db: Knex,
  type: ParentType,
  id: string,
): Promise<ParentRow | undefined> {
  switch (type) {
    case "PROJECT": {
      const row = await findProjectById(db, id);
      if (row === undefined) return undefined;
      const path = `/project/${row.owner_alias}/${row.alias}`;
      return { id, type, title: row.title, ownerUserId: row.owner_user_id, path };
    }
    case "TEAM": {
      const row = await findTeamById(db, id);
      if (row === undefined) return undefined;
      const path = `/team/${row.alias}`;
      return { id, type, title: row.title, ownerUserId: row.owner_user_id, path };
    }
    case "COMPANY": {
      const row = await findCompanyById(db, id);
      if (row === undefined) return undefined;
      const path = `/company/${row.alias}`;
      return { id, type, title: row.title, ownerUserId: row.owner_id, path };
    }
  }
}
