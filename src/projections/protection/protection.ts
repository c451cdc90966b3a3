import type { Knex } from "knex";
import type { ParentType } from "../../events/core/role.ts";
import { idInStream } from "../../events/core/stream.ts";
import { projectEvents } from "../../events/project/project.ts";
import {
  type ProtectionKind,
  type ProtectionRule,
  protectionEvents,
} from "../../events/protection/protection.ts";
import { teamEvents } from "../../events/team/team.ts";
import { type Change, change, put, remove, statement } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel, nothing } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { type Below, handedDown, type ImportSwitch } from "../instance/template-setting.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";
import { applyToProjects } from "./apply.ts";

const ownerEvents = {
  ProjectCreated: projectEvents.ProjectCreated,
  ProjectTransferred: projectEvents.ProjectTransferred,
  TeamCreated: teamEvents.TeamCreated,
  TeamTransferred: teamEvents.TeamTransferred,
} as const;

/** Which team, company or user owns a project or team; deleted ones as well, until they are purged. */
const owners = defineTable({
  name: "protection_owner",
  columns: { id: "uuid", owner_id: "uuid", is_project: "boolean" },
  key: ["id"],
  indexes: ["(owner_id)"],
});

const rules = defineTable({
  name: "protection_rule",
  columns: {
    id: "uuid",
    parent_id: "uuid",
    parent_type: column<ParentType>("text"),
    kind: column<ProtectionKind>("text"),
    template: "text",
    rule: column<ProtectionRule>("jsonb"),
    created_at: "timestamptz",
    /** Which apply wrote the row, until the stream of the project records it too. */
    apply_id: "uuid null",
  },
  key: ["id"],
  indexes: ["(parent_id, kind, created_at, id)"],
});

export type ProtectionRow = RowOf<typeof rules>;

/** One time that a team or company applied its rules of a kind to its projects. */
const applies = defineTable({
  name: "protection_apply",
  columns: {
    id: "uuid",
    parent_id: "uuid",
    kind: column<ProtectionKind>("text"),
    projects: "integer",
    applied_at: "timestamptz",
  },
  key: ["id"],
  lateIndexes: ["(parent_id, kind, applied_at)"],
});

type ProtectionApplyRow = RowOf<typeof applies>;

export const protectionProjection = defineReadModel({
  name: "protection",
  version: 4,
  // Jobs are given these, and processes keep copies while they run.
  announces: "job-settings",
  tables: [rules, applies, owners],
  events: { ...protectionEvents, ...ownerEvents, ...purgeEvents },
  effects: {
    ProjectCreated: ({ data: { projectId: id, ownerId: owner_id } }) =>
      put(owners, { id, owner_id, is_project: true }),
    ProjectTransferred: ({ stream, data: { ownerId: owner_id } }) =>
      put(owners, { id: idInStream(stream), owner_id, is_project: true }),
    TeamCreated: ({ data: { teamId: id, ownerId: owner_id } }) =>
      put(owners, { id, owner_id, is_project: false }),
    TeamTransferred: ({ stream, data: { ownerId: owner_id } }) =>
      put(owners, { id: idInStream(stream), owner_id, is_project: false }),
    ProjectPurged: ({ data: { projectId: id } }) => [
      remove(rules, { parent_id: id }),
      remove(owners, { id }),
    ],
    ProtectionRuleCreated: ({ data }) =>
      put(rules, {
        id: data.ruleId,
        parent_id: data.parentId,
        parent_type: data.parentType,
        kind: data.rule.kind,
        template: data.rule.template,
        rule: data.rule,
        created_at: new Date(data.createdAt),
        apply_id: null,
      }),
    ProtectionRuleEdited: ({ data: { ruleId: id, rule } }) =>
      change(rules, { id }, { rule, apply_id: null }),
    ProtectionRuleDeleted: ({ data: { ruleId: id } }) => remove(rules, { id }),
    ProtectionApplyRequested: ({ data }) => applyToProjects(data),
    ProtectionApplied: ({ stream, data }) => recordApply(idInStream(stream), data.applyId),
    ProtectionApplyFinished: nothing,
  },
});

/** The stream of a project has an event for what an apply gave it; what a later one gave it waits for its own. */
const recordApply = (projectId: string, applyId: string): Change =>
  statement("update protection_rule set apply_id = null where parent_id = ? and apply_id = ?", [
    projectId,
    applyId,
  ]);

/** Which switch hands rules of a kind down. */
const switches: Readonly<Record<ProtectionKind, ImportSwitch>> = {
  TAG: "import_tag_protection",
  ENVIRONMENT: "import_environment_protection",
  BRANCH: "import_branch_protection",
};

/**
 * Which rules of a kind: those that hold in a project (its own, and those that the team and company
 * above it hand down), or those that a team or company itself has.
 */
export type RuleScope = Readonly<{ kind: ProtectionKind }> &
  (Readonly<{ project: Below }> | Readonly<{ parentId: string }>);

const rulesIn = (db: Knex, ...scopes: readonly RuleScope[]) => {
  const rules = db<ProtectionRow>("protection_rule");
  return rules.where((any) => {
    for (const scope of scopes) any.orWhere((query) => within(db, scope, query));
  });
};

function within(db: Knex, scope: RuleScope, query: Knex.QueryBuilder): void {
  query.where("protection_rule.kind", scope.kind);
  if ("project" in scope)
    handedDown(db, "protection_rule", scope.project, switches[scope.kind])(query);
  else query.where("protection_rule.parent_id", scope.parentId);
}

export function listProtectionRules(
  db: Knex,
  scope: RuleScope,
  part: Part,
): Promise<Slice<ProtectionRow>> {
  const inOrder = (rows: Knex.QueryBuilder) =>
    rows.select("protection_rule.*").orderBy(["created_at", "id"]);
  return partOf(() => rulesIn(db, scope), inOrder, part);
}

/** All of them, for deciding. */
export async function protectionRules(
  db: Knex,
  ...scopes: readonly RuleScope[]
): Promise<readonly ProtectionRow["rule"][]> {
  const rows = await rulesIn(db, ...scopes).select<Pick<ProtectionRow, "rule">[]>("rule");
  return rows.map(({ rule }) => rule);
}

/** Undefined for a rule of something else. */
export function findProtectionRule(
  db: Knex,
  scope: RuleScope,
  id: string,
): Promise<ProtectionRow | undefined> {
  return rulesIn(db, scope).where("protection_rule.id", id).first<ProtectionRow | undefined>();
}

/** The last time that rules of a kind were applied to the projects of a team or company. */
export function findLastApply(
  db: Knex,
  parentId: string,
  kind: ProtectionKind,
): Promise<ProtectionApplyRow | undefined> {
  return db<ProtectionApplyRow>("protection_apply")
    .where({ parent_id: parentId, kind })
    .orderBy("applied_at", "desc")
    .first<ProtectionApplyRow | undefined>();
}

export type AppliedRules = Readonly<{
  applyId: string;
  /** The team or company. */
  fromId: string;
  kind: ProtectionKind;
  rules: readonly Readonly<{ ruleId: string; rule: ProtectionRule }>[];
}>;

/** What was applied to a project and its own stream does not record yet, oldest apply first. */
export async function findUnrecordedRules(
  db: Knex,
  projectId: string,
): Promise<readonly AppliedRules[]> {
  const { rows } = await db.raw<{ rows: AppliedRules[] }>(
    `select a.id as "applyId", a.parent_id as "fromId", a.kind,
        jsonb_agg(jsonb_build_object('ruleId', r.id, 'rule', r.rule) order by r.id) as rules
      from protection_rule r join protection_apply a on a.id = r.apply_id
      where r.parent_id = ?
      group by a.id
      order by a.applied_at, a.id`,
    [projectId],
  );
  return rows;
}
