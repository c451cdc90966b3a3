import { z } from "zod";
import { defined } from "../../../commands/core/defined.ts";
import { templateSetting } from "../../../commands/instance/template-setting.ts";
import { TemplateSettings } from "../../../events/instance/template-setting.ts";
import {
  findTemplateSettings,
  templateSettingProjection,
} from "../../../projections/instance/template-setting.ts";
import {
  companyScope,
  type OwnerScope,
  parentOf,
  readingAt,
  teamScope,
  writingAt,
} from "../../access/owner-scope.ts";
import { stampOf } from "../../core/command-deps.ts";
import { type Route, route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";

const TemplateSettingsView = TemplateSettings.meta({ id: "TemplateSettings" });

const Change = z
  .object({
    allowImportBranchProtection: bool().optional(),
    allowImportEnvironmentProtection: bool().optional(),
    allowImportTagProtection: bool().optional(),
    allowImportMrApprovalConfigAndRules: bool().optional(),
    allowImportPipelineLifetimeSetting: bool().optional(),
  })
  .meta({ id: "TemplateSettingsChange", description: "What is not given stays as it is." });

/** What a team or company hands down to the projects below it. */
export const templateSettingRoutes: readonly Route[] = [teamScope, companyScope].flatMap(
  (ownerScope) => [get(ownerScope), change(ownerScope)],
);

function get(ownerScope: OwnerScope): Route {
  return route({
    ...readingAt(ownerScope, "ADMIN"),
    method: "get",
    path: `${ownerScope.base}/setting/import`,
    operationId: `get${ownerScope.noun}TemplateSettings`,
    summary: `Tell which settings the projects of a ${ownerScope.resource} take over`,
    asOf: { readModels: [templateSettingProjection] },
    reply: TemplateSettingsView,
    handle: ({ request }, { db }) => findTemplateSettings(db, parentOf(request).id),
  });
}

function change(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "post",
    path: `${ownerScope.base}/setting/import`,
    operationId: `change${ownerScope.noun}TemplateSettings`,
    summary: `Change which settings the projects of a ${ownerScope.resource} take over`,
    body: Change,
    reply: TemplateSettingsView,
    async handle({ body, request }, { db, now }) {
      const { id, type: parentType } = parentOf(request);
      const command = {
        type: "ChangeTemplateSettings",
        parentId: id,
        parentType,
        settings: defined(body),
        ...stampOf(request, { now }),
      } as const;
      await request.execute(templateSetting, id, command);
      return findTemplateSettings(db, id);
    },
  });
}
