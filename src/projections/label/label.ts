import type { Knex } from "knex";
import type { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  type LabelDetails,
  LabelId,
  labelEvents,
  normaliseTitle,
} from "../../events/label/label.ts";
import { change, put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";

const labels = defineTable({
  name: "label",
  columns: {
    id: column<LabelId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    title: "text",
    title_normalised: 'text collate "C"',
    description: "text null",
    hex_color: "text",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(project_id, title_normalised, id)"],
});

export type LabelRow = RowOf<typeof labels>;

export const labelProjection = defineReadModel({
  name: "label",
  version: 2,
  tables: [labels],
  events: { ...labelEvents, ...purgeEvents },
  effects: {
    ProjectPurged: purgedFrom(labels),
    LabelCreated: ({ data }) =>
      put(labels, {
        id: data.labelId,
        project_id: data.projectId,
        ...columnsOf(data),
        created_at: new Date(data.createdAt),
      }),
    LabelEdited: ({ stream, data: { details } }) =>
      change(labels, idOf(stream), columnsOf(details)),
    LabelDeleted: ({ stream }) => remove(labels, idOf(stream)),
  },
});

const columnsOf = ({ title, description, hexColor: hex_color }: LabelDetails) => ({
  title,
  title_normalised: normaliseTitle(title),
  description,
  hex_color,
});

const idOf = (stream: string) => ({ id: idInStream(stream) as LabelId });

const inProject = (db: Knex, projectId: ProjectId) =>
  db<LabelRow>("label").where("project_id", projectId);

/** A label of this project; one of another project is not found. */
export function findLabel(
  db: Knex,
  projectId: ProjectId,
  id: LabelId,
): Promise<LabelRow | undefined> {
  return inProject(db, projectId).andWhere("id", id).first();
}

/** The labels of a project by title. */
export function listLabels(db: Knex, projectId: ProjectId, part: Part): Promise<Slice<LabelRow>> {
  const own = () => inProject(db, projectId);
  return partOf(own, (rows) => rows.orderBy(["title_normalised", "id"]), part);
}

/** Those of the labels that exist in any project, by id. */
export async function labelsById(
  db: Knex,
  ids: readonly LabelId[],
): Promise<ReadonlyMap<string, LabelRow>> {
  if (ids.length === 0) return new Map();
  const rows = await db<LabelRow>("label").whereRaw("id = any(?)", [[...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The labels of a project that have one of the names as their id or title. */
export async function labelsNamed(
  db: Knex,
  projectId: ProjectId,
  names: readonly string[],
): Promise<readonly LabelRow[]> {
  if (names.length === 0) return [];
  const ids = names.filter((name) => LabelId.safeParse(name).success);
  return inProject(db, projectId).andWhere((either) =>
    either
      .whereRaw("id = any(?::uuid[])", [ids])
      .orWhereRaw("title_normalised = any(?)", [names.map(normaliseTitle)]),
  );
}
