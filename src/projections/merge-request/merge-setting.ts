import type { Knex } from "knex";

import {
  type MergeMessages,
  type MergeSettings,
  mergeMessagesDefault,
  mergeSettingEvents,
  mergeSettingsDefault,
} from "../../events/merge-request/merge-setting.ts";
import { put } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

const mergeSettings = defineTable({
  name: "merge_setting",
  columns: {
    project_id: "uuid",
    settings: column<MergeSettings | null>("jsonb null"),
    messages: column<MergeMessages | null>("jsonb null"),
  },
  key: ["project_id"],
});

type Row = RowOf<typeof mergeSettings>;

export const mergeSettingProjection = defineReadModel({
  name: "merge_setting",
  version: 2,
  tables: [mergeSettings],
  events: { ...mergeSettingEvents, ...purgeEvents },
  effects: {
    MergeSettingsChanged: ({ data: { projectId: project_id, settings } }) =>
      put(mergeSettings, { project_id, settings }),
    MergeMessagesChanged: ({ data: { projectId: project_id, messages } }) =>
      put(mergeSettings, { project_id, messages }),
    ProjectPurged: purgedFrom(mergeSettings),
  },
});

/** How merges are made in a project, and what their messages are. */
export async function mergeSettingsOf(
  db: Knex,
  projectId: string,
): Promise<Readonly<{ settings: MergeSettings; messages: MergeMessages }>> {
  const row = await db<Row>("merge_setting").where({ project_id: projectId }).first();
  return {
    settings: row?.settings ?? mergeSettingsDefault,
    messages: row?.messages ?? mergeMessagesDefault,
  };
}
