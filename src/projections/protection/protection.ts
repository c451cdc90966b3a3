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
import { ignore } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { tableOf, type Writes } from "../core/writes.ts";
import { type Below, handedDown, type ImportSwitch } from "../instance/template-setting.ts";
import { applyToProjects } from "./apply.ts";

export type ProtectionRow = Readonly<{
  id: string;
  parent_id: string;
  parent_type: ParentType;
  kind: ProtectionKind;
  template: string;
  rule: ProtectionRule;
  created_at: Date;
  /** Which apply wrote the row, until the stream of the project records it too. */
  apply_id: string | null;
}>;

/** One time that a team or company applied its rules of a kind to its projects. */
export type ProtectionApplyRow = Readonly<{
  id: string;
  parent_id: string;
  kind: ProtectionKind;
  projects: number;
  applied_at: Date;
}>;

/** Which team, company or user owns a project or team; deleted ones as well, until they are purged. */
type ProtectionOwner = Readonly<{ id: string; owner_id: string; is_project: boolean }>;

const ownerEvents = {
  ProjectCreated: projectEvents.ProjectCreated,
  ProjectTransferred: projectEvents.ProjectTransferred,
  TeamCreated: teamEvents.TeamCreated,
  TeamTransferred: teamEvents.TeamTransferred,
} as const;

const owners = tableOf<ProtectionOwner>({ name: "protection_owner", key: ["id"] });
const rules = tableOf<ProtectionRow>({ name: "protection_rule", key: ["id"] });

export const protectionProjection = defineRowProjection({
  name: "protection",
  version: 3,
  // Jobs are given these, and processes keep copies while they run.
  announces: "job-settings",
  tables: ["protection_rule", "protection_apply", "protection_owner"],
  async create(tx) {
    await tx.schema.createTable("protection_rule", (table) => {
      table.uuid("id").primary();
      table.uuid("parent_id").notNullable();
      table.text("parent_type").notNullable();
      table.text("kind").notNullable();
      table.text("template").notNullable();
      table.jsonb("rule").notNullable();
      table.timestamp("created_at").notNullable();
      table.uuid("apply_id");
      table.index(["parent_id", "kind", "created_at", "id"]);
    });
    await tx.schema.createTable("protection_apply", (table) => {
      table.uuid("id").primary();
      table.uuid("parent_id").notNullable();
      table.text("kind").notNullable();
      table.integer("projects").notNullable();
      table.timestamp("applied_at").notNullable();
      table.index(["parent_id", "kind", "applied_at"]);
    });
    await tx.schema.createTable("protection_owner", (table) => {
      table.uuid("id").primary();
      table.uuid("owner_id").notNullable();
      table.boolean("is_project").notNullable();
      table.index("owner_id");
    });
  },
  events: { ...protectionEvents, ...ownerEvents, ...purgeEvents },
  handlers: {
    ProjectCreated: (rows, { data: { projectId, ownerId } }) =>
      own(rows, { id: projectId, owner_id: ownerId, is_project: true }),
    ProjectTransferred: (rows, { stream, data: { ownerId } }) =>
      own(rows, { id: idInStream(stream), owner_id: ownerId, is_project: true }),
    TeamCreated: (rows, { data: { teamId, ownerId } }) =>
      own(rows, { id: teamId, owner_id: ownerId, is_project: false }),
    TeamTransferred: (rows, { stream, data: { ownerId } }) =>
      own(rows, { id: idInStream(stream), owner_id: ownerId, is_project: false }),
    ProjectPurged: async (rows, { data: { projectId } }) => {
      await dropRows(await rows.written(), projectId, { protection_rule: "parent_id" });
      rows.remove(owners, { id: projectId });
    },
    ProtectionRuleCreated: (rows, { data }) => {
      const row = {
        id: data.ruleId,
        parent_id: data.parentId,
        parent_type: data.parentType,
        kind: data.rule.kind,
        template: data.rule.template,
        rule: data.rule,
        created_at: new Date(data.createdAt),
        apply_id: null,
      };
      rows.put(rules, row);
    },
    ProtectionRuleEdited: (rows, { data: { ruleId, rule } }) =>
      rows.change(rules, { id: ruleId }, { rule, apply_id: null }),
    ProtectionRuleDeleted: (rows, { data: { ruleId } }) => rows.remove(rules, { id: ruleId }),
    ProtectionApplyRequested: async (rows, { data }) => applyToProjects(await rows.written(), data),
    ProtectionApplied: async (rows, { stream, data: { applyId } }) => {
      const tx = await rows.written();
      await tx<ProtectionRow>("protection_rule")
        .where({ parent_id: idInStream(stream), apply_id: applyId })
        .update({ apply_id: null });
    },
    ProtectionApplyFinished: ignore,
  },
});

const own = (rows: Writes, row: ProtectionOwner): void => rows.put(owners, row);

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

export async function listProtectionRules(
  db: Knex,
  scope: RuleScope,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<Readonly<{ rows: readonly ProtectionRow[]; total: number }>> {
  const [rows, counted] = await Promise.all([
    rulesIn(db, scope)
      .select<ProtectionRow[]>("protection_rule.*")
      .orderBy(["created_at", "id"])
      .limit(limit)
      .offset(offset),
    rulesIn(db, scope).count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
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
