import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { ParentType } from "../core/role.ts";
import { streamName } from "../core/stream.ts";

/** Which settings of a team or company hold for the projects below it. */
export const TemplateSettings = z.object({
  allowImportBranchProtection: z.boolean(),
  allowImportEnvironmentProtection: z.boolean(),
  allowImportTagProtection: z.boolean(),
  allowImportMrApprovalConfigAndRules: z.boolean(),
  allowImportPipelineLifetimeSetting: z.boolean(),
});
export type TemplateSettings = Readonly<z.output<typeof TemplateSettings>>;

/** Nothing is inherited by default. */
export const templateSettingsDefault: TemplateSettings = {
  allowImportBranchProtection: false,
  allowImportEnvironmentProtection: false,
  allowImportTagProtection: false,
  allowImportMrApprovalConfigAndRules: false,
  allowImportPipelineLifetimeSetting: false,
};

export const templateSettingEvents = {
  TemplateSettingsChanged: z.object({
    parentId: z.uuid(),
    parentType: ParentType,
    settings: TemplateSettings,
    previous: TemplateSettings,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** Those of one team or company. */
export const templateSettingStream = (parentId: string): string =>
  streamName("templateSetting", parentId);
