import { z } from "zod";

import type { EventOf, EventSchemas } from "./event.ts";
import { IsoInstant, UserId } from "./ids.ts";
import { ParentType } from "./role.ts";
import { streamName } from "./stream.ts";

/** The least role that may do it; NO_ONE: nobody, whatever the role. */
export const ProtectionLevel = z.enum(["NO_ONE", "DEVELOPER", "ADMINS"]);
export type ProtectionLevel = z.output<typeof ProtectionLevel>;

export const TagProtection = z.object({
  kind: z.literal("TAG"),
  template: z.string(),
  allowToCreate: ProtectionLevel,
});
export const EnvironmentProtection = z.object({
  kind: z.literal("ENVIRONMENT"),
  template: z.string(),
  allowToDeploy: ProtectionLevel,
});
export const BranchProtection = z.object({
  kind: z.literal("BRANCH"),
  template: z.string(),
  allowedToPush: ProtectionLevel,
  allowedToMerge: ProtectionLevel,
  allowForcePush: z.boolean(),
});

/** What is protected, by a template of its name, and what is still allowed there. */
export const ProtectionRule = z.discriminatedUnion("kind", [
  TagProtection,
  EnvironmentProtection,
  BranchProtection,
]);
export type ProtectionRule = Readonly<z.output<typeof ProtectionRule>>;
export type ProtectionKind = ProtectionRule["kind"];
export const ProtectionKind = z.enum(["TAG", "ENVIRONMENT", "BRANCH"]);

export const protectionEvents = {
  ProtectionRuleCreated: z.object({
    ruleId: z.uuid(),
    parentId: z.uuid(),
    parentType: ParentType,
    rule: ProtectionRule,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  ProtectionRuleEdited: z.object({
    ruleId: z.uuid(),
    rule: ProtectionRule,
    previous: ProtectionRule,
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  ProtectionRuleDeleted: z.object({
    ruleId: z.uuid(),
    rule: ProtectionRule,
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
  /** A team or company wants its rules of a kind to be those of all its projects as well. */
  ProtectionApplyRequested: z.object({
    applyId: z.uuid(),
    parentId: z.uuid(),
    parentType: ParentType,
    kind: ProtectionKind,
    requestedById: UserId,
    requestedAt: IsoInstant,
  }),
  /** In the stream of a project: its rules now contain those. */
  ProtectionApplied: z.object({
    applyId: z.uuid(),
    kind: ProtectionKind,
    fromId: z.uuid(),
    appliedAt: IsoInstant,
  }),
  /** In the stream of the team or company: all its projects have them. */
  ProtectionApplyFinished: z.object({
    applyId: z.uuid(),
    kind: ProtectionKind,
    projects: z.int().nonnegative(),
    finishedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type ProtectionEvent = EventOf<typeof protectionEvents>;

/** All rules of one company, team or project. */
export const protectionStream = (parentId: string): string => streamName("protection", parentId);
