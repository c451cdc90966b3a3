import type { Knex } from "knex";

import {
  Settings,
  settingsDefaults,
  settingsEvents,
  settingsId,
} from "../../events/instance/settings.ts";
import { announceChange } from "../core/announce.ts";
import { defineProjection } from "../core/projection.ts";

type SettingsRow = Readonly<{ id: string; changed: unknown }>;

/** What was changed from the defaults, in one row; none while nothing was. */
export const settingsProjection = defineProjection({
  name: "settings",
  version: 1,
  tables: ["settings"],
  async create(tx) {
    await tx.schema.createTable("settings", (table) => {
      table.text("id").primary();
      table.jsonb("changed").notNullable();
    });
  },
  events: settingsEvents,
  handlers: {
    SettingsChanged: async (tx, { data }) => {
      const changed = JSON.stringify(data.changes);
      await tx("settings")
        .insert({ id: settingsId, changed })
        .onConflict("id")
        .merge({ changed: tx.raw("settings.changed || excluded.changed") });
      await announceChange(tx, "settings");
    },
  },
});

export async function findSettings(db: Knex): Promise<Settings> {
  const row = await db<SettingsRow>("settings").where({ id: settingsId }).first("changed");
  return Settings.parse({ ...settingsDefaults, ...(row?.changed as object | undefined) });
}
