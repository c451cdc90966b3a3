import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { ParentType } from "../core/role.ts";
import { streamName } from "../core/stream.ts";

/** The least role that may do it; NO_ONE: nobody, whatever the role. */
export const ProtectionLevel = z.enum(["NO_ONE", "DEVELOPER", "ADMINS"]);
export type ProtectionLevel = z.output<typeof ProtectionLevel>;

const TagProtection = z.object({
  kind: z.literal("TAG"),
  template: z.string(),
  allowToCreate: ProtectionLevel,
});
const EnvironmentProtection = z.object({
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
  /**
   * A team or company makes its rules of a kind rules of all its projects as well: those that exist
   * at this place of the log, both rules and projects. It is in force with this event.
   */
  ProtectionApplyRequested: z.object({
    applyId: z.uuid(),
    parentId: z.uuid(),
    parentType: ParentType,
    kind: ProtectionKind,
    /** A rule of a project for the same template is not weakened; of earlier releases it is replaced. */
    keepsStricter: z.boolean().optional(),
    requestedById: UserId,
    requestedAt: IsoInstant,
  }),
  /**
   * In the stream of a project, before it changes a rule of its own again: what an apply gave it.
   * Without `rules` a worker applied them, by an event for each.
   */
  ProtectionApplied: z.object({
    applyId: z.uuid(),
    kind: ProtectionKind,
    fromId: z.uuid(),
    rules: z
      .array(z.object({ ruleId: z.uuid(), rule: ProtectionRule }))
      .readonly()
      .optional(),
    appliedAt: IsoInstant,
  }),
  /** Written while a worker applied the rules, at its end, in the stream of the team or company. */
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
