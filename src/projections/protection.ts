import type { Knex } from "knex";

import {
  type ProtectionKind,
  type ProtectionRule,
  protectionEvents,
  protectionStream,
} from "../events/protection.ts";
import type { ParentType } from "../events/role.ts";
import { defineProjection } from "./projection.ts";
import { dropRows, purgeEvents } from "./purge.ts";
import { type Below, handedDown, type ImportSwitch } from "./template-setting.ts";

export type ProtectionRow = Readonly<{
  id: string;
  parent_id: string;
  parent_type: ParentType;
  kind: ProtectionKind;
  template: string;
  rule: ProtectionRule;
  created_at: Date;
}>;

/** How far handing the rules of a team or company to its projects has come. */
export type ProtectionApplyRow = Readonly<{
  id: string;
  parent_id: string;
  kind: ProtectionKind;
  requested_at: Date;
  finished_at: Date | null;
}>;

export const protectionProjection = defineProjection({
  name: "protection",
  version: 2,
  tables: ["protection_rule", "protection_apply", "protection_applied"],
  async create(tx) {
    await tx.schema.createTable("protection_rule", (table) => {
      table.uuid("id").primary();
      table.uuid("parent_id").notNullable();
      table.text("parent_type").notNullable();
      table.text("kind").notNullable();
      table.text("template").notNullable();
      table.jsonb("rule").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["parent_id", "kind", "created_at", "id"]);
    });
    await tx.schema.createTable("protection_apply", (table) => {
      table.uuid("id").primary();
      table.uuid("parent_id").notNullable();
      table.text("kind").notNullable();
      table.timestamp("requested_at").notNullable();
      table.timestamp("finished_at");
      table.index(["parent_id", "kind", "requested_at"]);
    });
    await tx.schema.createTable("protection_applied", (table) => {
      table.uuid("apply_id").notNullable();
      table.text("stream").notNullable();
      table.primary(["apply_id", "stream"]);
    });
  },
  events: { ...protectionEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: async (tx, { data }) => {
      const { projectId } = data;
      await dropRows(tx, projectId, {
        protection_rule: "parent_id",
        protection_apply: "parent_id",
      });
      await tx("protection_applied").where("stream", protectionStream(projectId)).delete();
    },
    ProtectionRuleCreated: async (tx, { data }) => {
      const row = {
        id: data.ruleId,
        parent_id: data.parentId,
        parent_type: data.parentType,
        kind: data.rule.kind,
        template: data.rule.template,
        rule: data.rule,
        created_at: new Date(data.createdAt),
      };
      await tx<ProtectionRow>("protection_rule").insert(row).onConflict("id").merge();
    },
    ProtectionRuleEdited: async (tx, { data: { ruleId, rule } }) => {
      await tx<ProtectionRow>("protection_rule").where("id", ruleId).update({ rule });
    },
    ProtectionRuleDeleted: async (tx, { data: { ruleId } }) => {
      await tx<ProtectionRow>("protection_rule").where("id", ruleId).delete();
    },
    ProtectionApplyRequested: async (tx, { data }) => {
      const row = {
        id: data.applyId,
        parent_id: data.parentId,
        kind: data.kind,
        requested_at: new Date(data.requestedAt),
        finished_at: null,
      };
      await tx<ProtectionApplyRow>("protection_apply").insert(row).onConflict("id").merge();
    },
    ProtectionApplied: async (tx, { stream, data: { applyId } }) => {
      await tx("protection_applied")
        .insert({ apply_id: applyId, stream })
        .onConflict(["apply_id", "stream"])
        .ignore();
    },
    ProtectionApplyFinished: async (tx, { data }) => {
      await tx<ProtectionApplyRow>("protection_apply")
        .where("id", data.applyId)
        .update({ finished_at: new Date(data.finishedAt) });
    },
  },
});

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

const rulesIn = (db: Knex, scope: RuleScope) =>
  db<ProtectionRow>("protection_rule").where((query) => {
    query.where("protection_rule.kind", scope.kind);
    if ("project" in scope)
      handedDown(db, "protection_rule", scope.project, switches[scope.kind])(query);
    else query.where("protection_rule.parent_id", scope.parentId);
  });

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
  scope: RuleScope,
): Promise<readonly ProtectionRow["rule"][]> {
  const rows = await rulesIn(db, scope).select<Pick<ProtectionRow, "rule">[]>("rule");
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

export type ApplyProgress = Readonly<{ apply: ProtectionApplyRow; projects: number }>;

/** Of the last time that somebody asked for it. */
export async function findApplyProgress(
  db: Knex,
  parentId: string,
  kind: ProtectionKind,
): Promise<ApplyProgress | undefined> {
  const apply = await db<ProtectionApplyRow>("protection_apply")
    .where({ parent_id: parentId, kind })
    .orderBy("requested_at", "desc")
    .first();
  if (apply === undefined) return undefined;
  const counted = await db("protection_applied")
    .where("apply_id", apply.id)
    .count({ projects: "*" })
    .first();
  return { apply, projects: Number(counted?.["projects"] ?? 0) };
}

/** Ids of the projects of a team, or of a company and its teams, that come after one in their order. */
export async function projectsBelow(
  db: Knex,
  parentId: string,
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  const teams = db("team").where("owner_id", parentId).whereNull("deleted_at").select("id");
  const rows = await db("project")
    .whereNull("deleted_at")
    .where((either) => either.where("owner_id", parentId).orWhereIn("owner_id", teams))
    .modify((query) => {
      if (after !== undefined) query.where("id", ">", after);
    })
    .orderBy("id")
    .limit(limit)
    .select<{ id: string }[]>("id");
  return rows.map(({ id }) => id);
}
