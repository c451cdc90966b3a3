import type { UserId } from "../../events/core/ids.ts";
import type { ParentType } from "../../events/core/role.ts";
import {
  type ProtectionEvent,
  type ProtectionKind,
  type ProtectionRule,
  protectionEvents,
  protectionStream,
} from "../../events/protection/protection.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Stamp = Readonly<{ by: UserId; at: string }>;
type Parent = Readonly<{ parentId: string; parentType: ParentType }>;

export type ProtectionCommand =
  | (Stamp &
      Parent &
      Readonly<{ type: "CreateProtectionRule"; ruleId: string; rule: ProtectionRule }>)
  | (Stamp &
      Readonly<{
        type: "EditProtectionRule";
        ruleId: string;
        /** Of this kind it must be; what is given replaces what was. */
        kind: ProtectionKind;
        change: Readonly<Record<string, unknown>>;
      }>)
  | (Stamp & Readonly<{ type: "DeleteProtectionRule"; ruleId: string; kind: ProtectionKind }>)
  | (Stamp & Parent & Readonly<{ type: "RequestApply"; applyId: string; kind: ProtectionKind }>)
  | Readonly<{
      type: "RecordApplied";
      applyId: string;
      kind: ProtectionKind;
      fromId: string;
      rules: readonly Readonly<{ ruleId: string; rule: ProtectionRule }>[];
      at: string;
    }>;

export type ProtectionState = Readonly<{
  rules: ReadonlyMap<string, ProtectionRule>;
  /** Which applies of a team or company above the stream of a project records. */
  applied: ReadonlySet<string>;
}>;

export const protection: Slice<ProtectionState, ProtectionCommand, typeof protectionEvents> = {
  events: protectionEvents,
  stream: protectionStream,
  initialState: { rules: new Map(), applied: new Set() },

  decide(state, command) {
    switch (command.type) {
      case "CreateProtectionRule": {
        const { ruleId, parentId, parentType, rule, by: createdById, at: createdAt } = command;
        if (withTemplate(state, rule) !== undefined) throw templateTaken(rule.kind);
        mustHaveRoom(state, rule.kind);
        const data = { ruleId, parentId, parentType, rule, createdById, createdAt };
        return [{ type: "ProtectionRuleCreated", data }];
      }
      case "EditProtectionRule":
        return edit(mustBeThere(state, command), command);
      case "DeleteProtectionRule": {
        const rule = mustBeThere(state, command);
        const { ruleId, by: deletedById, at: deletedAt } = command;
        return [{ type: "ProtectionRuleDeleted", data: { ruleId, rule, deletedById, deletedAt } }];
      }
      case "RequestApply": {
        const { type: _, by: requestedById, at: requestedAt, ...rest } = command;
        const data = { ...rest, keepsStricter: true, requestedById, requestedAt };
        return [{ type: "ProtectionApplyRequested", data }];
      }
      case "RecordApplied": {
        if (state.applied.has(command.applyId)) return [];
        const { type: _, at: appliedAt, ...rest } = command;
        return [{ type: "ProtectionApplied", data: { ...rest, appliedAt } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    const { rules, applied } = state;
    switch (event.type) {
      case "ProtectionRuleCreated":
      case "ProtectionRuleEdited":
        return { applied, rules: new Map(rules).set(event.data.ruleId, event.data.rule) };
      case "ProtectionRuleDeleted": {
        const remaining = new Map(rules);
        remaining.delete(event.data.ruleId);
        return { applied, rules: remaining };
      }
      case "ProtectionApplyRequested":
      case "ProtectionApplyFinished":
        return state;
      case "ProtectionApplied": {
        const { applyId, rules: given = [] } = event.data;
        const now = new Map(rules);
        for (const { ruleId, rule } of given) now.set(ruleId, rule);
        return { rules: now, applied: new Set(applied).add(applyId) };
      }
      default:
        return unreachable(event);
    }
  },
};

type Order<Type extends ProtectionCommand["type"]> = Extract<ProtectionCommand, { type: Type }>;

function edit(
  previous: ProtectionRule,
  { ruleId, change, by: editedById, at: editedAt }: Order<"EditProtectionRule">,
): readonly ProtectionEvent[] {
  // The change has fields of the rule's own kind alone: the edge parsed it so.
  const rule = { ...previous, ...change } as ProtectionRule;
  if (same(rule, previous)) return [];
  return [{ type: "ProtectionRuleEdited", data: { ruleId, rule, previous, editedById, editedAt } }];
}

function withTemplate(
  { rules }: ProtectionState,
  { kind, template }: ProtectionRule,
): readonly [string, ProtectionRule] | undefined {
  return [...rules].find(([, rule]) => rule.kind === kind && rule.template === template);
}

/** Rules of one kind and template. */
function same(one: ProtectionRule, other: ProtectionRule): boolean {
  const otherFields = new Map<string, unknown>(Object.entries(other));
  return Object.entries(one).every(([field, value]) => otherFields.get(field) === value);
}

function mustBeThere(
  { rules }: ProtectionState,
  { ruleId, kind }: Readonly<{ ruleId: string; kind: ProtectionKind }>,
): ProtectionRule {
  const rule = rules.get(ruleId);
  if (rule?.kind === kind) return rule;
  throw new Refusal("not_found", "protection.not_found", "Protection rule not found.");
}

/** Every ref of every push is held against all of them. */
const rulesMax = 100;

function mustHaveRoom({ rules }: ProtectionState, kind: ProtectionKind): void {
  const count = [...rules.values()].filter((rule) => rule.kind === kind).length;
  if (count < rulesMax) return;
  const message = `There are ${rulesMax} rules of this kind already; one with * may replace several.`;
  throw new Refusal("unprocessable", "protection.too_many", message);
}

/** What callers know a template as. */
const templateFields = {
  TAG: "tagTemplate",
  BRANCH: "branchTemplate",
  ENVIRONMENT: "environmentTemplate",
} as const satisfies Record<ProtectionKind, string>;

function templateTaken(kind: ProtectionKind): Refusal {
  const message = "There is a rule for this template already.";
  return new Refusal("unprocessable", "protection.template_taken", message, {
    errors: [{ field: templateFields[kind], code: "protection.template_taken", message }],
  });
}
