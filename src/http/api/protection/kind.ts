import { z } from "zod";
import { defined } from "../../../commands/core/defined.ts";
import { Uuid } from "../../../events/core/ids.ts";
import { ParentType } from "../../../events/core/role.ts";
import {
  BranchProtection,
  type ProtectionKind,
  ProtectionLevel,
  type ProtectionRule,
} from "../../../events/protection/protection.ts";
import { templateLengthMax } from "../../../platform/name-template.ts";
import type { ProtectionRow } from "../../../projections/protection/protection.ts";
import { bool } from "../../core/schema.ts";

type View = Readonly<Record<string, unknown>>;
type Edit = Readonly<{ uuid: string; change: Readonly<Record<string, unknown>> }>;

/** What differs between tags, environments and branches: names of fields, and which there are. */
export type KindOfProtection = Readonly<{
  kind: ProtectionKind;
  /** In a path. */
  segment: "tag-protection" | "environment-protection" | "branch-protection";
  /** In an operationId, and in a sentence. */
  noun: string;
  text: string;
  list: string;
  reply: z.ZodType<View, View>;
  create: z.ZodType<ProtectionRule>;
  edit: z.ZodType<Edit>;
  viewOf: (row: ProtectionRow) => View;
}>;

const Template = z
  .string()
  .trim()
  .min(1)
  .max(templateLengthMax)
  .meta({ description: "`*` any run without `/`, `**` any run, `?` one character." });
const common = { ownerType: ParentType, uuid: z.uuid() };

const tag: KindOfProtection = {
  kind: "TAG",
  segment: "tag-protection",
  noun: "TagProtection",
  text: "tag protection rule",
  list: "restTagProtectionModelList",
  reply: z
    .object({ tagTemplate: z.string(), allowToCreate: ProtectionLevel, ...common })
    .meta({ id: "TagProtection" }),
  create: z
    .object({ tagTemplate: Template, allowToCreate: ProtectionLevel })
    .meta({ id: "NewTagProtection" })
    .transform(({ tagTemplate: template, allowToCreate }) => ({
      kind: "TAG" as const,
      template,
      allowToCreate,
    })),
  edit: z
    .object({ uuid: Uuid, allowToCreate: ProtectionLevel })
    .meta({ id: "TagProtectionChange" })
    .transform(({ uuid, ...change }) => ({ uuid, change })),
  viewOf: ({ id, parent_type, template, rule }) => ({
    ...rule,
    tagTemplate: template,
    ownerType: parent_type,
    uuid: id,
  }),
};

const environment: KindOfProtection = {
  kind: "ENVIRONMENT",
  segment: "environment-protection",
  noun: "EnvironmentProtection",
  text: "environment protection rule",
  list: "restEnvironmentProtectionModelList",
  reply: z
    .object({ environmentTemplate: z.string(), allowToDeploy: ProtectionLevel, ...common })
    .meta({ id: "EnvironmentProtection" }),
  create: z
    .object({ environmentTemplate: Template, allowToDeploy: ProtectionLevel })
    .meta({ id: "NewEnvironmentProtection" })
    .transform(({ environmentTemplate: template, allowToDeploy }) => ({
      kind: "ENVIRONMENT" as const,
      template,
      allowToDeploy,
    })),
  edit: z
    .object({ uuid: Uuid, allowToDeploy: ProtectionLevel })
    .meta({ id: "EnvironmentProtectionChange" })
    .transform(({ uuid, ...change }) => ({ uuid, change })),
  viewOf: ({ id, parent_type, template, rule }) => ({
    ...rule,
    environmentTemplate: template,
    ownerType: parent_type,
    uuid: id,
  }),
};

const branch: KindOfProtection = {
  kind: "BRANCH",
  segment: "branch-protection",
  noun: "BranchProtection",
  text: "branch protection rule",
  list: "branchProtectionApiModelList",
  reply: BranchProtection.omit({ kind: true, template: true })
    .extend({ branchTemplate: z.string(), ...common })
    .meta({ id: "BranchProtection" }),
  create: z
    .object({
      branchTemplate: Template,
      allowedToPush: ProtectionLevel.default("ADMINS"),
      allowedToMerge: ProtectionLevel.default("ADMINS"),
      allowForcePush: bool().default(false),
    })
    .meta({ id: "NewBranchProtection" })
    .transform(({ branchTemplate: template, ...rest }) => ({
      kind: "BRANCH" as const,
      template,
      ...rest,
    })),
  edit: z
    .object({
      uuid: Uuid,
      allowedToPush: ProtectionLevel.optional(),
      allowedToMerge: ProtectionLevel.optional(),
      allowForcePush: bool().optional(),
    })
    .meta({ id: "BranchProtectionChange" })
    .transform(({ uuid, ...change }) => ({ uuid, change: defined(change) })),
  viewOf: ({ id, parent_type, template, rule }) => ({
    ...rule,
    branchTemplate: template,
    ownerType: parent_type,
    uuid: id,
  }),
};

export const kindsOfProtection = [tag, environment, branch] as const;
