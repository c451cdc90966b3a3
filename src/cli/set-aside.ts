import { parseArgs } from "node:util";

import { listSetAside, requestRetry } from "../workers/core/set-aside.ts";
import { CommandEnd } from "./command-end.ts";
import { type Stores, withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitFound = 1;
const eventIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Lists the events that reactors set aside, and exits with 1 when there are any. With --retry and the
 * ids of events, or --retry alone for all, has the process that runs the reactors try them again.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { retry: { type: "boolean", default: false } },
  });
  const malformed = positionals.find((id) => !eventIdForm.test(id));
  if (malformed !== undefined || (positionals.length > 0 && !values.retry)) {
    throw new CommandEnd("Ids of events follow --retry.");
  }
  return withStores("set-aside", (stores) =>
    values.retry ? retry(stores, positionals) : list(stores),
  );
}

async function list({ db }: Stores): Promise<number> {
  const rows = await listSetAside(db);
  for (const { reactor, event_id, type, stream, revision, reason, set_aside_at } of rows) {
    const place = `${type} (${stream}, revision ${revision})`;
    const line = `${set_aside_at.toISOString()} ${reactor} ${event_id} ${place}: ${reason}`;
    write(process.stdout, `${line.replaceAll(/\p{Cc}+/gu, " ")}\n`);
  }
  return rows.length === 0 ? 0 : exitFound;
}

async function retry({ db }: Stores, ids: readonly string[]): Promise<number> {
  const counts =
    ids.length === 0
      ? [await requestRetry(db)]
      : await Promise.all(ids.map((id) => requestRetry(db, id)));
  const count = counts.reduce((sum, each) => sum + each, 0);
  write(process.stdout, `${count} will be tried again within a minute.\n`);
  return 0;
}
