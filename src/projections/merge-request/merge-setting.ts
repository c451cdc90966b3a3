import type { Knex } from "knex";

import {
  type MergeMessages,
  type MergeSettings,
  mergeMessagesDefault,
  mergeSettingEvents,
  mergeSettingsDefault,
} from "../../events/merge-request/merge-setting.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

type Row = Readonly<{
  project_id: string;
  settings: MergeSettings | null;
  messages: MergeMessages | null;
}>;

export const mergeSettingProjection = defineProjection({
  name: "merge_setting",
  version: 1,
  tables: ["merge_setting"],
  async create(tx) {
    await tx.schema.createTable("merge_setting", (table) => {
      table.uuid("project_id").primary();
      table.jsonb("settings");
      table.jsonb("messages");
    });
  },
  events: { ...mergeSettingEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) => dropRows(tx, data.projectId, { merge_setting: "project_id" }),
    MergeSettingsChanged: async (tx, { data: { projectId, settings } }) => {
      await tx("merge_setting")
        .insert({ project_id: projectId, settings: JSON.stringify(settings) })
        .onConflict("project_id")
        .merge();
    },
    MergeMessagesChanged: async (tx, { data: { projectId, messages } }) => {
      await tx("merge_setting")
        .insert({ project_id: projectId, messages: JSON.stringify(messages) })
        .onConflict("project_id")
        .merge();
    },
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
