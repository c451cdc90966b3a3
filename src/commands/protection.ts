import type { UserId } from "../events/ids.ts";
import {
  type ProtectionEvent,
  type ProtectionKind,
  type ProtectionRule,
  protectionEvents,
  protectionStream,
} from "../events/protection.ts";
import type { ParentType } from "../events/role.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Decider, Slice } from "./decider.ts";

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
  | (Stamp &
      Parent &
      Readonly<{
        type: "ApplyRules";
        applyId: string;
        kind: ProtectionKind;
        fromId: string;
        /** With the ids they get here, where they are new. */
        rules: readonly Readonly<{ ruleId: string; rule: ProtectionRule }>[];
      }>)
  | Readonly<{
      type: "FinishApply";
      applyId: string;
      kind: ProtectionKind;
      projects: number;
      at: string;
    }>;

export type ProtectionState = Readonly<{
  rules: ReadonlyMap<string, ProtectionRule>;
  /** Those that were applied here or, at a team or company, whose applying has finished. */
  applied: ReadonlySet<string>;
}>;

const decider: Decider<ProtectionState, ProtectionCommand, ProtectionEvent> = {
  initialState: { rules: new Map(), applied: new Set() },

  decide(state, command) {
    switch (command.type) {
      case "CreateProtectionRule": {
        const { ruleId, parentId, parentType, rule, by: createdById, at: createdAt } = command;
        if (withTemplate(state, rule) !== undefined) throw templateTaken();
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
        const data = { ...rest, requestedById, requestedAt };
        return [{ type: "ProtectionApplyRequested", data }];
      }
      case "ApplyRules":
        return state.applied.has(command.applyId) ? [] : apply(state, command);
      case "FinishApply": {
        if (state.applied.has(command.applyId)) return [];
        const { type: _, at: finishedAt, ...rest } = command;
        return [{ type: "ProtectionApplyFinished", data: { ...rest, finishedAt } }];
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
        const left = new Map(rules);
        left.delete(event.data.ruleId);
        return { applied, rules: left };
      }
      case "ProtectionApplyRequested":
        return state;
      case "ProtectionApplied":
      case "ProtectionApplyFinished":
        return { rules, applied: new Set(applied).add(event.data.applyId) };
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

/** Rules for the same template become as they are above; the others stay. */
function apply(state: ProtectionState, command: Order<"ApplyRules">): readonly ProtectionEvent[] {
  const { applyId, kind, fromId, parentId, parentType, by, at } = command;
  const changes = command.rules.flatMap(({ ruleId, rule }): readonly ProtectionEvent[] => {
    const own = withTemplate(state, rule);
    if (own === undefined) {
      const created = { createdById: by, createdAt: at };
      const data = { ruleId, parentId, parentType, rule, ...created };
      return [{ type: "ProtectionRuleCreated", data }];
    }
    const [ownId, previous] = own;
    if (same(rule, previous)) return [];
    const data = { ruleId: ownId, rule, previous, editedById: by, editedAt: at };
    return [{ type: "ProtectionRuleEdited", data }];
  });
  return [
    ...changes,
    { type: "ProtectionApplied", data: { applyId, kind, fromId, appliedAt: at } },
  ];
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

function templateTaken(): Refusal {
  const message = "There is a rule for this template already.";
  return new Refusal("unprocessable", "protection.template_taken", message, {
    errors: [{ field: "template", code: "protection.template_taken", message }],
  });
}

export const protection: Slice<ProtectionState, ProtectionCommand, typeof protectionEvents> = {
  events: protectionEvents,
  stream: protectionStream,
  decider,
};
