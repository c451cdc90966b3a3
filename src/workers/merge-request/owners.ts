import { setImmediate as turn } from "node:timers/promises";
import type { Knex } from "knex";
import { BoundedCache } from "../../platform/bounded-cache.ts";
import { type OwnerEntry, parseCodeOwners } from "../../platform/git/code-owners.ts";
import {
  compileSection,
  decidingEntry,
  type SectionMatcher,
  TooManySteps,
} from "../../platform/git/owner-match.ts";
import type { Repository } from "../../platform/git/repository.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { findCommitAuthors } from "../../projections/user/commit-author.ts";
import type { Approver } from "./approver.ts";

/** Where the file may be, in the order in which it is looked for. */
const places = ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"] as const;
const fileBytesMax = 1024 ** 2;
/** Of one request: some seconds of work, with pauses. */
const stepsMax = 50_000_000;
const pathsBetweenPauses = 50;

/** Owners who have to agree, and how many of them. */
export type OwnerDemand = Readonly<{
  section: string;
  pattern: string;
  owners: readonly string[];
  approvals: number;
}>;

const compiled = new BoundedCache<readonly SectionMatcher[]>(32 * 1024 ** 2);

/**
 * What a CODEOWNERS file demands for some files, each demand once.
 *
 * @param paths undefined: too many to be looked at
 * @returns undefined when it could not be found out within bounds
 */
export async function ownerDemands(
  repository: Repository,
  targetHead: string,
  paths: readonly string[] | undefined,
): Promise<readonly OwnerDemand[] | undefined> {
  const sections = await sectionsAt(repository, targetHead);
  if (sections?.length === 0) return [];
  if (sections === undefined || paths === undefined) return undefined;
  const demands = new Map<OwnerEntry, OwnerDemand>();
  const budget = { steps: stepsMax };
  try {
    for (const [at, path] of paths.entries()) {
      if (at % pathsBetweenPauses === pathsBetweenPauses - 1) await turn();
      for (const matcher of sections) {
        const entry = decidingEntry(matcher, path.split("/"), budget);
        if (entry === undefined || entry.owners.length === 0) continue;
        const { name, approvals } = matcher.section;
        const { pattern, owners } = entry;
        demands.set(entry, { section: name, pattern, owners, approvals });
      }
    }
  } catch (error) {
    if (error instanceof TooManySteps) return undefined;
    throw error;
  }
  return [...demands.values()];
}

/** Undefined when the file is too large. Optional sections demand nothing and are left out. */
async function sectionsAt(
  { gitDir, objects }: Repository,
  commitId: string,
): Promise<readonly SectionMatcher[] | undefined> {
  for (const place of places) {
    const entry = await objects.entry(commitId, place.split("/"));
    if (entry?.kind !== "file" && entry?.kind !== "executable") continue;
    const key = `${gitDir} ${entry.id}`;
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const bytes = (await objects.info(entry.id))?.bytes ?? 0;
    if (bytes > fileBytesMax) return undefined;
    const text = (await objects.blob(entry.id))?.toString("utf8") ?? "";
    const sections = parseCodeOwners(text).filter(({ optional }) => !optional);
    const matchers = sections.map(compileSection);
    compiled.set(key, matchers, 10 * bytes + key.length);
    return matchers;
  }
  return [];
}

/**
 * Whether those who approved are enough for every demand. A demand that nobody could ever meet, because
 * none of its owners exists, is met; as with GitLab.
 */
export async function ownersAgree(
  db: Knex,
  project: ProjectRow,
  demands: readonly OwnerDemand[],
  approvers: readonly Approver[],
): Promise<boolean> {
  if (demands.length === 0) return true;
  const names = [...new Set(demands.flatMap(({ owners }) => owners))];
  const people = await peopleBehind(db, project, names);
  return demands.every(({ owners, approvals }) => {
    const roles = new Set(owners.flatMap((name) => roleNames[name.toLowerCase()] ?? []));
    const ids = new Set(owners.flatMap((name) => [...(people.get(name) ?? [])]));
    if (roles.size === 0 && ids.size === 0) return true;
    const agreed = approvers.filter(({ userId, role }) => ids.has(userId) || roles.has(role));
    // More than there are owners could never come; who has a role is not counted.
    return agreed.length >= (roles.size > 0 ? approvals : Math.min(approvals, ids.size));
  });
}

/** `@@developer`: everybody who has the role in the project. */
const roleNames: Readonly<Record<string, readonly Approver["role"][]>> = {
  "@@developer": ["DEVELOPER"],
  "@@developers": ["DEVELOPER"],
  "@@maintainer": ["ADMIN"],
  "@@maintainers": ["ADMIN"],
  "@@owner": ["ADMIN"],
  "@@owners": ["ADMIN"],
};

/** Ids of users by the names that stand for them: a user's alias, a team's, a company's, an address. */
async function peopleBehind(
  db: Knex,
  project: ProjectRow,
  names: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const aliases = names.filter((name) => /^@[^@]/.test(name)).map((name) => name.slice(1));
  const emails = names.filter((name) => !name.startsWith("@"));
  const wanted = aliases.map((alias) => alias.toLowerCase());
  const users: readonly NamedUser[] = await db("app_user")
    .whereRaw("alias_normalised = any(?)", [wanted])
    .whereNull("forgotten_at")
    .select("id", "alias_normalised");
  const groups = await groupMembers(db, project, wanted);
  const authors = await findCommitAuthors(db, emails);
  const idsOf = (name: string): ReadonlySet<string> => {
    if (!name.startsWith("@")) {
      const author = authors.get(name.toLowerCase());
      return new Set(author === undefined ? [] : [author.id]);
    }
    const alias = name.slice(1).toLowerCase();
    const user = users.filter(({ alias_normalised }) => alias_normalised === alias);
    return new Set([...user.map(({ id }) => id), ...(groups.get(alias) ?? [])]);
  };
  return new Map(names.map((name) => [name, idsOf(name)]));
}

type NamedUser = Readonly<{ id: string; alias_normalised: string }>;
type GroupMember = Readonly<{ alias_normalised: string; user_id: string }>;

/** Members of the team and the company that the project belongs to, by alias. */
async function groupMembers(
  db: Knex,
  project: ProjectRow,
  aliases: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const above = [project.owner_id, project.owner_company_id].filter((id) => id !== null);
  const members = (table: "team" | "company") =>
    db(table)
      .join("member", "member.parent_id", `${table}.id`)
      .whereRaw("?? = any(?)", [`${table}.alias_normalised`, [...aliases]])
      .whereIn(`${table}.id`, above)
      .select<GroupMember[]>(`${table}.alias_normalised`, "member.user_id");
  const rows = (await Promise.all([members("team"), members("company")])).flat();
  const byAlias = new Map<string, string[]>();
  for (const { alias_normalised, user_id } of rows) {
    byAlias.set(alias_normalised, [...(byAlias.get(alias_normalised) ?? []), user_id]);
  }
  return byAlias;
}
