import type { Knex } from "knex";
import { Answers } from "../../git/answers.ts";
import {
  findOwners,
  type OwnerAnswer,
  type OwnerDemand,
  type OwnerQuestion,
} from "../../git/owners/owner-demand.ts";
import type { Repository } from "../../git/repository.ts";
import { BoundedCache } from "../../platform/bounded-cache.ts";
import { ParserTask } from "../../platform/parser/parser.ts";
import { ParserBusy, TooComplex } from "../../platform/parser/refusal.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { findCommitAuthors } from "../../projections/user/commit-author.ts";
import type { Approver } from "./approver.ts";
import type { Comparison } from "./compare.ts";

/** Where the file may be, in the order in which it is looked for. */
const places = ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"] as const;
const fileBytesMax = 1024 ** 2;
const ownersMax = 10_000;
/** Of one request, in the process: about three seconds. */
const stepsMax = 20_000_000;
/** What is smaller than these is matched at once, in a few milliseconds, and else in a process. */
const atOnce = { textLengthMax: 16 * 1024, pathsMax: 1_000, stepsMax: 50_000 } as const;
const unansweredMs = 60_000;

export type OwnerDemands =
  | Readonly<{ demands: readonly OwnerDemand[] }>
  /** It could not be found out within bounds. */
  | Readonly<{ demands?: undefined; code: string; message: string }>;

const known = new Answers<OwnerAnswer>(16 * 1024 ** 2, (answer) =>
  answer === "too many steps" ? 0 : sizeOf(answer),
);
/** Questions that had no answer, and the time until which they are not repeated. */
const unanswered = new BoundedCache<Readonly<{ until: number; why: OwnerDemands }>>(1024 ** 2);

const task = new ParserTask<OwnerQuestion, OwnerAnswer>({
  module: "git/owners/owner-task",
  timeoutMs: 15_000,
  mebibytesMax: 512,
});

const sizeOf = (demands: readonly OwnerDemand[]): number =>
  demands.flatMap(({ owners }) => owners).reduce((sum, { length }) => sum + 2 * length + 50, 0);

/**
 * What the CODEOWNERS file of the target demands for the files of a request, each demand once. Remembered by the
 * file and what is compared; large files are matched in a process.
 */
export async function ownerDemands(
  repository: Repository,
  targetHead: string,
  comparison: Comparison,
): Promise<OwnerDemands> {
  const file = await ownersFileAt(repository, targetHead);
  if (file === undefined) return { demands: [] };
  if (file.bytes > fileBytesMax) {
    const message = `CODEOWNERS is larger than ${fileBytesMax} bytes.`;
    return { code: "code_owners.too_large", message };
  }
  if (comparison.paths === undefined) return tooComplex();
  const { paths, baseTree, sourceTree } = comparison;
  const key = `${file.id} ${baseTree ?? ""} ${sourceTree}`;
  const kept = unanswered.get(key);
  if (known.peek(key) === undefined && kept !== undefined && kept.until > performance.now()) {
    return kept.why;
  }
  try {
    const answer = await known.get(key, async () => {
      const text = (await repository.objects.blob(file.id))?.toString("utf8");
      if (text === undefined) throw new Unanswered("the file could not be read");
      return await findOwnersWithin({ textId: file.id, text, paths, stepsMax });
    });
    return answer === "too many steps" || hasTooManyOwners(answer)
      ? tooComplex()
      : { demands: answer };
  } catch (error) {
    // The caller has too many questions under way, which says nothing about this question.
    if (error instanceof ParserBusy) return noAnswer();
    if (!(error instanceof Unanswered || error instanceof TooComplex)) throw error;
    const why = error instanceof TooComplex ? tooComplex() : noAnswer();
    unanswered.set(key, { until: performance.now() + unansweredMs, why }, 2 * key.length + 200);
    return why;
  }
}

class Unanswered extends Error {
  override readonly name = "Unanswered";
}

async function findOwnersWithin(question: OwnerQuestion): Promise<OwnerAnswer> {
  const { text, paths } = question;
  if (text.length <= atOnce.textLengthMax && paths.length <= atOnce.pathsMax) {
    const answer = findOwners({ ...question, stepsMax: atOnce.stepsMax });
    if (answer !== "too many steps") return answer;
  }
  return await task.run(question);
}

const hasTooManyOwners = (demands: readonly OwnerDemand[]): boolean =>
  new Set(demands.flatMap(({ owners }) => owners)).size > ownersMax;

function tooComplex(): OwnerDemands {
  const message = "CODEOWNERS has too many patterns or owners for the files of this request.";
  return { code: "code_owners.too_complex", message };
}

function noAnswer(): OwnerDemands {
  const message = "CODEOWNERS could not be read now. It is read again in a minute.";
  return { code: "code_owners.no_answer", message };
}

async function ownersFileAt({ objects }: Repository, commitId: string) {
  for (const place of places) {
    const entry = await objects.entry(commitId, place.split("/"));
    if (entry?.kind !== "file" && entry?.kind !== "executable") continue;
    return { id: entry.id, bytes: (await objects.info(entry.id))?.bytes ?? 0 };
  }
  return undefined;
}

type Approvals = Readonly<{
  /** Those whose approvals count. */
  approvers: readonly Approver[];
  /** Those of the users who could approve, the one who is excluded here among them. */
  mayApprove: (userIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** The author, where no author may approve. */
  excluded: string | undefined;
}>;

/** Unmeetable: nobody is left, because the author is excluded. */
export type OwnersAgreement = "agreed" | "missing" | "unmeetable";

/**
 * Whether those who approved are enough for every demand. Owners who may not approve here are not counted: a demand
 * that nobody could ever meet, because it has no others, is met; as with GitLab. An author who is excluded meets no
 * demand by being the only owner.
 */
export async function ownersAgree(
  db: Knex,
  project: ProjectRow,
  demands: readonly OwnerDemand[],
  { approvers, mayApprove, excluded }: Approvals,
): Promise<OwnersAgreement> {
  if (demands.length === 0) return "agreed";
  const names = [...new Set(demands.flatMap(({ owners }) => owners))];
  const people = await peopleBehind(db, project, names);
  const able = await mayApprove([...new Set([...people.values()].flatMap((ids) => [...ids]))]);
  const found = demands.map(({ owners, approvals }): OwnersAgreement => {
    const roles = new Set(owners.flatMap((name) => roleNames[name.toLowerCase()] ?? []));
    const named = owners.flatMap((name) => [...(people.get(name) ?? [])]);
    const ids = new Set(named.filter((id) => able.has(id)));
    if (roles.size === 0 && ids.size === 0) return "agreed";
    const left = ids.size - (excluded !== undefined && ids.has(excluded) ? 1 : 0);
    if (roles.size === 0 && left === 0) return "unmeetable";
    const agreed = approvers.filter(({ userId, role }) => ids.has(userId) || roles.has(role));
    // More than there are owners could never come; who has a role is not counted.
    const needed = roles.size > 0 ? approvals : Math.min(approvals, left);
    return agreed.length >= needed ? "agreed" : "missing";
  });
  return (["unmeetable", "missing"] as const).find((each) => found.includes(each)) ?? "agreed";
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

/** Ids of users by the names that mean them: a user's alias, a team's, a company's, an address. */
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
  const userByAlias = new Map(users.map(({ alias_normalised, id }) => [alias_normalised, id]));
  const idsOf = (name: string): ReadonlySet<string> => {
    if (!name.startsWith("@")) {
      const author = authors.get(name.toLowerCase());
      return new Set(author === undefined ? [] : [author.id]);
    }
    const alias = name.slice(1).toLowerCase();
    const user = userByAlias.get(alias);
    return new Set([...(user === undefined ? [] : [user]), ...(groups.get(alias) ?? [])]);
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
