import type { Knex } from "knex";
import type { Slice } from "../list/list-rows.ts";
import { countedNear } from "../list/total.ts";
import { ownersOf, type ProjectRow, sharedProjects } from "../project/project.ts";
import { type ReferenceRow, targetKey } from "./reference.ts";

/** Something that names a thing, with where it is. */
export type ReferenceListRow = Pick<ReferenceRow, "source_kind" | "source_id" | "closes"> &
  Readonly<{
    title: string | null;
    local_id: number | null;
    project_alias: string;
    owner_alias: string;
  }>;

type Numbered = Readonly<{ mark: "#" | "!"; localId: number }>;

/** An issue or merge request, where `mark` is `#` or `!`, or a commit, by its whole hash. */
export type ReferredThing = Readonly<{
  project: Pick<ProjectRow, "id" | "alias" | "owner_alias">;
}> &
  (Numbered | Readonly<{ commitId: string }>);

/** What names a thing, the oldest first, of all projects that the user may read. */
export async function listReferences(
  db: Knex,
  thing: ReferredThing,
  userId: string,
  page: Readonly<{ limit: number; offset: number }>,
): Promise<Slice<ReferenceListRow>> {
  const { project } = thing;
  const targets = targetsOf(thing).map((target) => targetKey(target, project.id));
  // Title and description of one thing may both name the same: it is listed once.
  const sources = () =>
    db("text_reference as named")
      .join("project", "project.id", "named.project_id")
      .whereRaw("named.target = any(?)", [targets])
      .whereNull("project.deleted_at")
      .where((readable) => {
        readable
          .where("project.is_private", false)
          .orWhere("project.id", project.id)
          .orWhereIn("project.owner_id", ownersOf(db, userId))
          .orWhereIn("project.id", sharedProjects(db, userId));
      })
      .groupBy("named.source_kind", "named.source_id", "named.project_id")
      .select("named.source_kind", "named.source_id", "named.project_id")
      .min({ title: "named.title", parent_id: "named.parent_id", first_at: "named.created_at" })
      .select(db.raw("bool_or(named.closes) as closes"));
  const [rows, total] = await Promise.all([
    described(db, sources(), page),
    countedNear(db, db.from(sources().as("source")), page),
  ]);
  return { rows, total };
}

/** How texts name it. */
function targetsOf(thing: ReferredThing): readonly string[] {
  if ("commitId" in thing) return [thing.commitId];
  const { alias, owner_alias } = thing.project;
  const near = `${thing.mark}${thing.localId}`;
  return [near, `${owner_alias}/${alias}${near}`];
}

async function described(
  db: Knex,
  sources: Knex.QueryBuilder,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<readonly ReferenceListRow[]> {
  const listed = sources.orderBy(["first_at", "source_id"]).limit(limit).offset(offset);
  return db
    .from(listed.as("source"))
    .join("project", "project.id", "source.project_id")
    .join(db.raw(`${ownerAliases} as owner`), "owner.id", "project.owner_id")
    .leftJoin("issue", "issue.id", db.raw(thingOf("ISSUE")))
    .leftJoin("merge_request", "merge_request.id", db.raw(thingOf("MERGE_REQUEST")))
    .orderBy(["first_at", "source_id"])
    .select<ReferenceListRow[]>(
      "source.source_kind",
      "source.source_id",
      "source.closes",
      "project.alias as project_alias",
      "owner.alias as owner_alias",
      db.raw("coalesce(issue.local_id, merge_request.local_id) as local_id"),
      db.raw("coalesce(issue.title, merge_request.title, source.title) as title"),
    );
}

/** The thing that a source is or is written on; commits have hashes, which are no ids. */
const thingOf = (kind: "ISSUE" | "MERGE_REQUEST"): string => `case source.source_kind
  when '${kind}' then source.source_id::uuid
  when 'NOTE' then source.parent_id::uuid
end`;

const ownerAliases = `(
  select id, alias from app_user
  union all select id, alias from team
  union all select id, alias from company
)`;
