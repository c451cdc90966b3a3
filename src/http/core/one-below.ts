import type { Knex } from "knex";

import type { ProjectId } from "../../events/core/ids.ts";
import type { Refusal } from "../../platform/refusal.ts";

type Db = Readonly<{ db: Knex }>;
type Find<Of, Id, Row> = (db: Knex, of: Of, id: Id) => Promise<Row | undefined>;

/** Finds one thing below another. What is below anything else is refused as if it was not there. */
export const oneBelow =
  <Of, Id, Row>(find: Find<Of, Id, Row>, missing: () => Refusal) =>
  async ({ db }: Db, { id: of }: Readonly<{ id: Of }>, id: Id): Promise<Row> => {
    const row = await find(db, of, id);
    if (row === undefined) throw missing();
    return row;
  };

type AtProject = Readonly<{ project: Readonly<{ id: ProjectId }> }>;

/** The same below the project of a request. */
export function oneInProject<Id, Row>(find: Find<ProjectId, Id, Row>, missing: () => Refusal) {
  const inside = oneBelow(find, missing);
  return (deps: Db, { project }: AtProject, id: Id): Promise<Row> => inside(deps, project, id);
}
