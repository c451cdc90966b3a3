import type { Knex } from "knex";

import { findProject, type ProjectRow } from "./project.ts";

/** @param path `owner/alias` and nothing more: there are no projects below others */
export async function findProjectByPath(db: Knex, path: string): Promise<ProjectRow | undefined> {
  const [ownerAlias, alias, ...more] = path.split("/");
  if (!ownerAlias || !alias || more.length > 0) return undefined;
  return findProject(db, ownerAlias, alias);
}
