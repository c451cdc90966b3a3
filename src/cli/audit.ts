import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import type { AuditFilter } from "../projections/audit/entry.ts";
import { type AuditLine, auditTrail } from "../projections/audit/trail.ts";
import { findProject } from "../projections/project/project.ts";
import { findUser } from "../projections/user/user.ts";
import { auditText } from "./audit-text.ts";
import { runVerify } from "./audit-verify.ts";
import { writeLines } from "./lines.ts";
import { type Stores, withStores } from "./stores.ts";

/**
 * Shows who did what, when, from where, and what it changed: `audit [--project owner/alias]
 * [--user alias] [--since 2026-01-31] [--json]`. `audit verify` proves that the log is unchanged.
 */
export async function run(args: readonly string[]): Promise<number> {
  if (args[0] === "verify") return runVerify(args.slice(1));
  const { values } = parseArgs({
    args: [...args],
    options: {
      project: { type: "string" },
      user: { type: "string" },
      since: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const toText = values.json ? auditJson : auditText;
  return withStores("audit", async (stores) => {
    const filter = await readFilter(stores, values);
    await writeLines(lines(stores, filter, toText));
    return 0;
  });
}

async function* lines(
  { db, store, vault }: Stores,
  filter: AuditFilter,
  toText: (line: AuditLine) => string,
): AsyncGenerator<string> {
  for await (const line of auditTrail({ db, store, open: vault.open }, filter)) yield toText(line);
}

/** Positions are numbers on the wire: nobody else's exceed what JSON readers hold exactly. */
function auditJson(line: AuditLine): string {
  return JSON.stringify({ ...line, position: String(line.position) });
}

type Wanted = Readonly<{
  project?: string | undefined;
  user?: string | undefined;
  since?: string | undefined;
}>;

async function readFilter({ db }: Stores, { project, user, since }: Wanted): Promise<AuditFilter> {
  return {
    ...(project !== undefined && { projectId: await projectId(db, project) }),
    ...(user !== undefined && { actorId: await userId(db, user) }),
    ...(since !== undefined && { since: instant(since) }),
  };
}

async function projectId(db: Stores["db"], name: string): Promise<string> {
  const [owner = "", alias = ""] = name.split("/");
  const project = await findProject(db, owner, alias);
  if (project === undefined) throw new ConfigError(`No project ${name}; write it as owner/alias.`);
  return project.id;
}

async function userId(db: Stores["db"], alias: string): Promise<string> {
  const user = await findUser(db, alias);
  if (user === undefined) throw new ConfigError(`No user ${alias}.`);
  return user.id;
}

/** A day or an instant; a day begins in UTC. */
function instant(text: string): Date {
  const date = new Date(text);
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(date.getTime())) {
    throw new ConfigError(`--since takes a day or an instant such as 2026-01-31T12:00:00Z.`);
  }
  return date;
}
