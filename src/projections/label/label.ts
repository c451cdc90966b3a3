import type { Knex } from "knex";

import type { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { LabelId, labelEvents, normaliseTitle } from "../../events/label/label.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { counted } from "../core/total.ts";
import { tableOf } from "../core/writes.ts";
import type { Slice } from "../user/user.ts";

export type LabelRow = Readonly<{
  id: LabelId;
  project_id: ProjectId;
  title: string;
  title_normalised: string;
  description: string | null;
  hex_color: string;
  created_at: Date;
}>;

const labels = tableOf<LabelRow>({ name: "label", key: ["id"] });

export const labelProjection = defineRowProjection({
  name: "label",
  version: 1,
  tables: ["label"],
  async create(tx) {
    await tx.schema.createTable("label", (table) => {
      table.uuid("id").primary();
      table.uuid("project_id").notNullable();
      table.text("title").notNullable();
      table.specificType("title_normalised", 'text collate "C"').notNullable();
      table.text("description");
      table.text("hex_color").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["project_id", "title_normalised", "id"]);
    });
  },
  events: { ...labelEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: async (rows, { data }) =>
      dropRows(await rows.written(), data.projectId, { label: "project_id" }),
    LabelCreated: (rows, { data }) => {
      const row: LabelRow = {
        id: data.labelId,
        project_id: data.projectId,
        title: data.title,
        title_normalised: normaliseTitle(data.title),
        description: data.description,
        hex_color: data.hexColor,
        created_at: new Date(data.createdAt),
      };
      rows.put(labels, row);
    },
    LabelEdited: (rows, { stream, data: { details } }) =>
      rows.change(labels, idOf(stream), {
        title: details.title,
        title_normalised: normaliseTitle(details.title),
        description: details.description,
        hex_color: details.hexColor,
      }),
    LabelDeleted: (rows, { stream }) => rows.remove(labels, idOf(stream)),
  },
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
export async function listLabels(
  db: Knex,
  projectId: ProjectId,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<Slice<LabelRow>> {
  const [rows, total] = await Promise.all([
    inProject(db, projectId).orderBy(byTitle).limit(limit).offset(offset),
    counted(inProject(db, projectId)),
  ]);
  return { rows, total };
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

const byTitle = [{ column: "title_normalised" }, { column: "id" }];
