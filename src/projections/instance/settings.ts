import type { Knex } from "knex";

import {
  Settings,
  settingsDefaults,
  settingsEvents,
  settingsId,
} from "../../events/instance/settings.ts";
import { statement } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";

/** What was changed from the defaults, in one row; none while nothing was. */
const settings = defineTable({
  name: "settings",
  columns: { id: "text", changed: "jsonb" },
  key: ["id"],
});

type SettingsRow = RowOf<typeof settings>;

export const settingsProjection = defineReadModel({
  name: "settings",
  version: 2,
  announces: "settings",
  tables: [settings],
  events: settingsEvents,
  effects: {
    SettingsChanged: ({ data }) =>
      statement(addChanges, [settingsId, JSON.stringify(data.changes)]),
  },
});

/** Adds changes to those before; later ones of a setting replace earlier ones. */
const addChanges = `
  insert into settings (id, changed) values (?, ?)
  on conflict (id) do update set changed = settings.changed || excluded.changed`;

export async function findSettings(db: Knex): Promise<Settings> {
  const row = await db<SettingsRow>("settings").where({ id: settingsId }).first("changed");
  return Settings.parse({ ...settingsDefaults, ...(row?.changed as object | undefined) });
}
