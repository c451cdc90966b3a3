import type { Knex } from "knex";

/**
 * Tables that cannot be made from the log again, with the columns by which they are read in order. What is
 * missing here are caches, counters of limits and work under way, which is begun again.
 */
const keptTables: Readonly<Record<string, readonly string[]>> = {
  vault_key: ["subject"],
  vault_key_gone: ["subject"],
  token_use: ["token_id"],
  session_use: ["session_id"],
  ssh_key_use: ["key_id"],
  otp_step: ["user_id"],
  mirror_sync: ["project_id"],
  repository_size: ["project_id"],
  push_count_progress: ["project_id"],
  package_download: ["package_version_id"],
  agent_contact: ["agent_id", "system_id"],
  job_run: ["job_id", "attempt"],
  job_log_chunk: ["job_id", "attempt", "first_byte"],
  container_blob: ["package_id", "digest"],
};

/** Columns with positions of the log that was backed up: the one beside which rows are put may have others. */
const ofThatLog: Readonly<Record<string, readonly string[]>> = { job_run: ["given_position"] };

const rowsAtOnce = 1_000;
/** Rows of logs of jobs are the largest. */
const rowsOfLogsAtOnce = 50;

/** Rows of all kept tables, a line of JSON each, as they were at one moment. */
export async function* tableLines(db: Knex): AsyncGenerator<string> {
  const tx = await db.transaction({ isolationLevel: "repeatable read", readOnly: true });
  try {
    for (const [table, columns] of Object.entries(keptTables)) {
      const order = columns.map((column) => `"${column}"`).join(", ");
      const limit = table === "job_log_chunk" ? rowsOfLogsAtOnce : rowsAtOnce;
      await tx.raw(
        `declare kept_rows no scroll cursor for select to_jsonb(t)::text as row
         from public."${table}" t order by ${order}`,
      );
      for (;;) {
        const { rows } = await tx.raw<{ rows: { row: string }[] }>(`fetch ${limit} from kept_rows`);
        for (const { row } of rows) yield `{"table":${JSON.stringify(table)},"row":${row}}`;
        if (rows.length < limit) break;
      }
      await tx.raw("close kept_rows");
    }
  } finally {
    await tx.rollback();
  }
}

/** As `tableLines` writes it. The row stays text: numbers that are parsed here would be rounded. */
const lineForm = /^\{"table":"(\w+)","row":(\{.*\})\}$/s;

/** Puts rows back; those that are there already stay. All of them, or none. */
export async function putTables(db: Knex, lines: AsyncIterable<string>): Promise<number> {
  let count = 0;
  await db.transaction(async (tx) => {
    let [table, rows]: [string, string[]] = ["", []];
    const flush = async (): Promise<void> => {
      if (rows.length > 0) await insert(tx, table, rows);
      rows = [];
    };
    for await (const text of lines) {
      count += 1;
      const [, name = "", row = ""] = lineForm.exec(text) ?? [];
      if (!Object.hasOwn(keptTables, name)) {
        throw new Error(`Line ${count} of the tables is of none that this version knows`);
      }
      const limit = name === "job_log_chunk" ? rowsOfLogsAtOnce : rowsAtOnce;
      if (name !== table || rows.length >= limit) await flush();
      table = name;
      rows.push(row);
    }
    await flush();
  });
  return count;
}

/**
 * A column that is not put back gets its default, as one does that the release of the backup did not have: as in rows
 * that are there when it comes.
 */
async function insert(tx: Knex.Transaction, table: string, rows: readonly string[]): Promise<void> {
  const [first = "{}"] = rows;
  const columns = await tx(table).withSchema("public").columnInfo();
  const isPut = (name: string) => Object.hasOwn(columns, name) && !ofThatLog[table]?.includes(name);
  const names = Object.keys(JSON.parse(first)).filter(isPut);
  const list = names.map((name) => `"${name}"`).join(", ");
  await tx.raw(
    `insert into public."${table}" (${list})
     select ${list} from unnest(?::text[]) r, jsonb_populate_record(null::public."${table}", r::jsonb)
     on conflict do nothing`,
    [[...rows]],
  );
}
