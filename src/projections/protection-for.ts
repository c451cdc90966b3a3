import type { Knex } from "knex";

import type { ProtectionLevel, ProtectionRule } from "../events/protection.ts";
import { branchPrefix, tagPrefix } from "../events/repository.ts";
import type { Role } from "../events/role.ts";
import { matchesTemplate } from "../platform/name-template.ts";
import type { ProjectRow } from "./project.ts";
import { protectionRules } from "./protection.ts";
import type { Below } from "./template-setting.ts";

/** What the rules that fit a ref allow together; the strictest of them counts in each respect. */
export type RefProtection =
  /** All refs follow those of another repository: nobody changes them here. */
  | Readonly<{ kind: "MIRROR" }>
  | Readonly<{ kind: "TAG"; allowToCreate: ProtectionLevel }>
  | Readonly<{
      kind: "BRANCH";
      allowedToPush: ProtectionLevel;
      allowedToMerge: ProtectionLevel;
      allowForcePush: boolean;
    }>;

export type RefProtections = Readonly<{
  /** @param ref full name; null when no rule fits it */
  of: (ref: string) => RefProtection | null;
}>;

export type ProtectedProject = Below & Pick<ProjectRow, "mirror_type">;

/** Everything that guards the refs of a project, read once for a push of many refs. */
export async function refProtections(db: Knex, project: ProtectedProject): Promise<RefProtections> {
  if (project.mirror_type === "PULL") return { of: () => ({ kind: "MIRROR" }) };
  return ruleProtections(db, project);
}

/** The rules alone: those a PULL mirror itself goes by. */
export async function ruleProtections(db: Knex, project: Below): Promise<RefProtections> {
  const [tags, branches] = await Promise.all([
    protectionRules(db, { project, kind: "TAG" }),
    protectionRules(db, { project, kind: "BRANCH" }),
  ]);
  const rules = [...tags, ...branches];
  return { of: (ref) => protectionOf(ref, rules) };
}

/** What protects one ref, by its full name; null when nothing does. */
export function protectionOf(ref: string, rules: readonly ProtectionRule[]): RefProtection | null {
  const fitting = (prefix: string) =>
    ref.startsWith(prefix)
      ? rules.filter(({ template }) => matchesTemplate(template, ref.slice(prefix.length)))
      : [];
  const tags = fitting(tagPrefix).flatMap((rule) => (rule.kind === "TAG" ? [rule] : []));
  if (tags.length > 0) {
    return {
      kind: "TAG",
      allowToCreate: strictest(tags.map(({ allowToCreate }) => allowToCreate)),
    };
  }
  const branches = fitting(branchPrefix).flatMap((rule) => (rule.kind === "BRANCH" ? [rule] : []));
  if (branches.length === 0) return null;
  return {
    kind: "BRANCH",
    allowedToPush: strictest(branches.map(({ allowedToPush }) => allowedToPush)),
    allowedToMerge: strictest(branches.map(({ allowedToMerge }) => allowedToMerge)),
    allowForcePush: branches.every(({ allowForcePush }) => allowForcePush),
  };
}

/** Most forbidding first. */
const byStrictness: readonly ProtectionLevel[] = ["NO_ONE", "ADMINS", "DEVELOPER"];

function strictest(levels: readonly ProtectionLevel[]): ProtectionLevel {
  return byStrictness.find((level) => levels.includes(level)) ?? "NO_ONE";
}

/** Whether a role is enough for a level. */
export function reaches(role: Role, level: ProtectionLevel): boolean {
  if (level === "NO_ONE") return false;
  return role === "ADMIN" || (level === "DEVELOPER" && role === "DEVELOPER");
}

export type RefWish = Readonly<{
  ref: string;
  before: string | null;
  after: string | null;
  /** Commits that were there would be lost. */
  forced?: boolean;
  /** What comes in was agreed on in a merge request. */
  merging?: boolean;
}>;

/**
 * Why somebody of this role may not change a ref in this way, in words for a git client; undefined
 * when they may. Who may create a tag may move and delete it; a protected branch is never deleted.
 */
export function refChangeRefused(
  protection: RefProtection | null,
  role: Role,
  { before, after, forced = false, merging = false }: RefWish,
): string | undefined {
  if (protection === null) return undefined;
  if (protection.kind === "MIRROR") return "the project is a mirror of another repository";
  if (protection.kind === "TAG") {
    return reaches(role, protection.allowToCreate) ? undefined : "protected tag";
  }
  if (before !== null && after === null) return "protected branch cannot be deleted";
  const level = merging ? protection.allowedToMerge : protection.allowedToPush;
  if (!reaches(role, level)) return "protected branch";
  if (forced && !protection.allowForcePush) return "protected branch cannot be forced";
  return undefined;
}
