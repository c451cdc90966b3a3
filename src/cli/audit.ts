import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { InstantOrDay } from "../events/core/ids.ts";
import type { AuditFilter } from "../projections/audit/entry-query.ts";
import { auditCsv, auditCsvHead, auditJson } from "../projections/audit/format.ts";
import { subjectKinds, typesOfKind, unknownTypes } from "../projections/audit/subject.ts";
import { type AuditLine, auditTrail } from "../projections/audit/trail.ts";
import { findProject } from "../projections/project/project.ts";
import { findCompany } from "../projections/team/company.ts";
import { findTeam } from "../projections/team/team.ts";
import { findUser } from "../projections/user/user.ts";
import { auditText } from "./audit-text.ts";
import { runVerify } from "./audit-verify.ts";
import { writeLines } from "./lines.ts";
import { type Stores, withStores } from "./stores.ts";

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

/**
 * Shows who did what, when, from where, and what it changed, oldest first: `audit [--project owner/alias
 * | --team alias | --company alias] [--user alias] [--kind KIND] [--type Type,Type] [--subject id]
 * [--correlation id] [--since 2026-01-31] [--until 2026-02-28T12:00:00Z] [--json | --csv]`. It queries as the routes
 * `/admin/audit` and its kind do. `audit verify` proves that the log is unchanged.
 */
export async function run(args: readonly string[]): Promise<number> {
  if (args[0] === "verify") return runVerify(args.slice(1));
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ project: text, team: text, company: text, user: text, kind: text, type: text },
      ...{ subject: text, correlation: text, since: text, until: text, json: flag, csv: flag },
    },
  });
  if (values.json && values.csv) throw new ConfigError("Give one of --json and --csv.");
  const toText = values.csv ? auditCsv : values.json ? jsonText : auditText;
  return withStores("audit", async (stores) => {
    const filter = await readFilter(stores, values);
    await writeLines(
      lines(stores, filter, { toText, head: values.csv ? auditCsvHead : undefined }),
    );
    return 0;
  });
}

type Form = Readonly<{ toText: (line: AuditLine) => string; head: string | undefined }>;

async function* lines(
  { db, store, vault }: Stores,
  filter: AuditFilter,
  { toText, head }: Form,
): AsyncGenerator<string> {
  if (head !== undefined) yield head;
  for await (const line of auditTrail({ db, store, open: vault.open }, filter)) yield toText(line);
}

const jsonText = (line: AuditLine): string => JSON.stringify(auditJson(line));

type Option =
  | ("project" | "team" | "company" | "user")
  | ("kind" | "type" | "subject" | "correlation" | "since" | "until");
type Wanted = Readonly<Partial<Record<Option, string | undefined>>>;

async function readFilter({ db }: Stores, wanted: Wanted): Promise<AuditFilter> {
  const { user, subject, correlation, since, until } = wanted;
  const placeId = await placeIdOf(db, wanted);
  const types = typesOf(wanted);
  return {
    ...(placeId !== undefined && { placeId }),
    ...(types !== undefined && { types }),
    ...(user !== undefined && { actorId: await userId(db, user) }),
    ...(subject !== undefined && { subjectId: subject }),
    ...(correlation !== undefined && { correlationId: correlation }),
    ...(since !== undefined && { since: instant("since", since) }),
    ...(until !== undefined && { until: instant("until", until) }),
  };
}

async function placeIdOf(
  db: Stores["db"],
  { project, team, company }: Wanted,
): Promise<string | undefined> {
  const given = [project, team, company].filter((name) => name !== undefined);
  if (given.length > 1) throw new ConfigError("Give one of --project, --team and --company.");
  if (project !== undefined) return projectId(db, project);
  if (team !== undefined) return mustBe(await findTeam(db, team), `team ${team}`);
  return company === undefined
    ? undefined
    : mustBe(await findCompany(db, company), `company ${company}`);
}

function mustBe(row: Readonly<{ id: string }> | undefined, name: string): string {
  if (row === undefined) throw new ConfigError(`No ${name}.`);
  return row.id;
}

function typesOf({ kind, type }: Wanted): readonly string[] | undefined {
  const types = type?.split(",").map((each) => each.trim());
  const unknown = unknownTypes(types ?? []);
  if (unknown.length > 0) throw new ConfigError(`There is no event type ${unknown.join(", ")}.`);
  if (kind === undefined) return types;
  if (!subjectKinds.includes(kind)) {
    throw new ConfigError(`--kind takes one of ${subjectKinds.join(", ")}.`);
  }
  const ofKind = typesOfKind(kind);
  return types === undefined ? ofKind : ofKind.filter((each) => types.includes(each));
}

async function projectId(db: Stores["db"], name: string): Promise<string> {
  const [owner = "", alias = ""] = name.split("/");
  const project = await findProject(db, owner, alias);
  if (project === undefined) throw new ConfigError(`No project ${name}; write it as owner/alias.`);
  return project.id;
}

const userId = async (db: Stores["db"], alias: string): Promise<string> =>
  mustBe(await findUser(db, alias), `user ${alias}`);

/** A day or an instant; a day begins in UTC. */
function instant(option: string, text: string): Date {
  if (InstantOrDay.safeParse(text).success) return new Date(text);
  throw new ConfigError(`--${option} takes a day or an instant such as 2026-01-31T12:00:00Z.`);
}
