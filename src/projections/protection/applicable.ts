import type { Knex } from "knex";
import type { Role } from "../../events/core/role.ts";
import type { ProtectionLevel, ProtectionRule } from "../../events/protection/protection.ts";
import { branchPrefix, tagPrefix } from "../../events/repository/repository.ts";
import { compileTemplate, type NameMatcher } from "../../platform/name-template.ts";
import type { Below } from "../instance/template-setting.ts";
import { mustDecideByCurrent } from "../progress/current.ts";
import type { ProjectRow } from "../project/project.ts";
import { protectionRules } from "./protection.ts";

/** What the rules that fit a ref allow together; the strictest of them counts in each respect. */
export type RefProtection =
  /** All refs follow those of another repository: users cannot change them. */
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

/**
 * The rules alone: those a PULL mirror itself goes by.
 *
 * @throws Refusal 503 `projection.not_current`
 */
export async function ruleProtections(db: Knex, project: Below): Promise<RefProtections> {
  const [rules] = await Promise.all([
    protectionRules(db, { project, kind: "TAG" }, { project, kind: "BRANCH" }),
    mustDecideByCurrent(db),
  ]);
  return { of: protectionsOf(rules) };
}

type Kind = ProtectionRule["kind"];
type RuleOf<K extends Kind> = Extract<ProtectionRule, { kind: K }>;
type Compiled<K extends Kind> = Readonly<{ rule: RuleOf<K>; fits: NameMatcher }>;

/** The rules of one kind, their templates prepared once for all refs. */
function compiled<K extends Kind>(
  kind: K,
  rules: readonly ProtectionRule[],
): readonly Compiled<K>[] {
  const isOfKind = (rule: ProtectionRule): rule is RuleOf<K> => rule.kind === kind;
  return rules.filter(isOfKind).map((rule) => ({ rule, fits: compileTemplate(rule.template) }));
}

function fitting<K extends Kind>(rules: readonly Compiled<K>[], ref: string, prefix: string) {
  if (!ref.startsWith(prefix)) return [];
  const name = ref.slice(prefix.length);
  return rules.filter(({ fits }) => fits(name)).map(({ rule }) => rule);
}

/** What protects a ref, by its full name; null when nothing does. */
export function protectionsOf(rules: readonly ProtectionRule[]): RefProtections["of"] {
  const tagRules = compiled("TAG", rules);
  const branchRules = compiled("BRANCH", rules);
  return (ref) => tagProtection(tagRules, ref) ?? branchProtection(branchRules, ref);
}

function tagProtection(rules: readonly Compiled<"TAG">[], ref: string): RefProtection | null {
  const tags = fitting(rules, ref, tagPrefix);
  if (tags.length === 0) return null;
  return { kind: "TAG", allowToCreate: strictest(tags.map(({ allowToCreate }) => allowToCreate)) };
}

function branchProtection(rules: readonly Compiled<"BRANCH">[], ref: string): RefProtection | null {
  const branches = fitting(rules, ref, branchPrefix);
  if (branches.length === 0) return null;
  return {
    kind: "BRANCH",
    allowedToPush: strictest(branches.map(({ allowedToPush }) => allowedToPush)),
    allowedToMerge: strictest(branches.map(({ allowedToMerge }) => allowedToMerge)),
    allowForcePush: branches.every(({ allowForcePush }) => allowForcePush),
  };
}

/**
 * Who may deploy to an environment: the strictest of the rules that fit its name; null when none does.
 *
 * @throws Refusal 503 `projection.not_current`
 */
export async function deploymentLevel(
  db: Knex,
  project: Below,
  environment: string,
): Promise<ProtectionLevel | null> {
  const [rules] = await Promise.all([
    protectionRules(db, { project, kind: "ENVIRONMENT" }),
    mustDecideByCurrent(db),
  ]);
  // `*` also matches `/`, as in the scopes of variables: who names `prod*` guards `prod/x` with both.
  const wide = rules.map((rule) => ({ ...rule, template: rule.template.replaceAll(/\*+/g, "**") }));
  const levels = fitting(compiled("ENVIRONMENT", wide), environment, "");
  return levels.length === 0 ? null : strictest(levels.map(({ allowToDeploy }) => allowToDeploy));
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
 * Why a user of this role may not change a ref in this way, in words for a git client; undefined
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
