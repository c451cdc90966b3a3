import type { Knex } from "knex";

import { type Settings, settingsDefaults } from "../../events/instance/settings.ts";
import { findSettings } from "../../projections/instance/settings.ts";
import type { Watching } from "../../projections/progress/visible.ts";
import { cachedQuery } from "../core/cached-query.ts";

/** The settings in force, at hand for every request. */
export type ReadSettings = () => Promise<Settings>;

export function settingsReader(db: Knex, onChange: Watching["onChange"]): ReadSettings {
  const memory = cachedQuery(() => findSettings(db), { entriesMax: 1 });
  onChange((subject) => {
    if (subject === undefined || subject === "settings") memory.forget();
  });
  return async () => (await memory.get("settings")) ?? settingsDefaults;
}
