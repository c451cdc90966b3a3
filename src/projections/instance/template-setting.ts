import type { Knex } from "knex";

import {
  type TemplateSettings,
  templateSettingEvents,
  templateSettingsDefault,
} from "../../events/instance/template-setting.ts";
import { put } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";

/** The switch that hands something down. */
export type ImportSwitch = Exclude<keyof StoredTemplateSetting, "parent_id">;

const templateSettings = defineTable({
  name: "template_setting",
  columns: {
    parent_id: "uuid",
    import_branch_protection: "boolean",
    import_environment_protection: "boolean",
    import_tag_protection: "boolean",
    import_approval: "boolean",
    import_pipeline_lifetime: "boolean",
  },
  key: ["parent_id"],
});

type StoredTemplateSetting = RowOf<typeof templateSettings>;

export const templateSettingProjection = defineReadModel({
  name: "template_setting",
  version: 2,
  // Jobs are given these, and processes keep copies while they run.
  announces: "job-settings",
  tables: [templateSettings],
  events: templateSettingEvents,
  effects: {
    TemplateSettingsChanged: ({ data: { parentId, settings } }) =>
      put(templateSettings, {
        parent_id: parentId,
        import_branch_protection: settings.allowImportBranchProtection,
        import_environment_protection: settings.allowImportEnvironmentProtection,
        import_tag_protection: settings.allowImportTagProtection,
        import_approval: settings.allowImportMrApprovalConfigAndRules,
        import_pipeline_lifetime: settings.allowImportPipelineLifetimeSetting,
      }),
  },
});

export async function findTemplateSettings(db: Knex, parentId: string): Promise<TemplateSettings> {
  const row = await db<StoredTemplateSetting>("template_setting")
    .where("parent_id", parentId)
    .first();
  if (row === undefined) return templateSettingsDefault;
  return {
    allowImportBranchProtection: row.import_branch_protection,
    allowImportEnvironmentProtection: row.import_environment_protection,
    allowImportTagProtection: row.import_tag_protection,
    allowImportMrApprovalConfigAndRules: row.import_approval,
    allowImportPipelineLifetimeSetting: row.import_pipeline_lifetime,
  };
}

/** What a project is and what is above it. */
export type Below = Readonly<{ id: string; owner_id: string; owner_company_id: string | null }>;

/**
 * Narrows a query to rows whose `parent_id` is the project itself, or the team or company above it
 * where the switch is on.
 */
export function handedDown(
  db: Knex,
  table: string,
  { id, owner_id, owner_company_id }: Below,
  switchedBy: ImportSwitch,
): (query: Knex.QueryBuilder) => void {
  const above = [owner_id, owner_company_id].filter((parent) => parent !== null);
  const switched = db("template_setting")
    .whereIn("parent_id", above)
    .where(switchedBy, true)
    .select("parent_id");
  return (query) => {
    query.where((either) =>
      either.where(`${table}.parent_id`, id).orWhereIn(`${table}.parent_id`, switched),
    );
  };
}
