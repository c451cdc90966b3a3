import { hash } from "node:crypto";
import type { Knex } from "knex";

import type { Answer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import type { RepositoryState } from "./document.ts";
import type { NativeRequest } from "./type.ts";

/**
 * Dates the answer and leaves it out when the caller has it (RFC 9110, 13.1.3), for clients that know no
 * entity tags. Every state of a repository that is read has a date of its own, later than those before it.
 */
export async function dated(
  { ctx, repository, request }: Pick<NativeRequest, "ctx" | "repository" | "request">,
  { key }: Pick<RepositoryState, "key">,
  answer: Answer,
  { db, now }: Pick<Deps, "db" | "now">,
): Promise<Answer> {
  const date = await dateOf(repository.id, key, { db, now: now() });
  // Several changes in a second have dates ahead of the clock, which nothing may be dated by.
  if (date > now()) return answer;
  const dates = { "Last-Modified": date.toUTCString() };
  const since = Date.parse(request.header("if-modified-since"));
  const isTagged = request.header("if-none-match") !== "";
  if (isTagged || Number.isNaN(since) || date.getTime() > since || ctx.method !== "GET") {
    return { ...answer, headers: { ...answer.headers, ...dates } };
  }
  return { status: 304, headers: dates, body: "" };
}

type At = Readonly<{ db: Knex; now: Date }>;
type Row = Readonly<{ date: Date }>;

/** In whole seconds, as a header shows it: the time at which the state was read first, or the next second that is free. */
async function dateOf(repositoryId: string, key: string, { db, now }: At): Promise<Date> {
  const state = hash("sha256", key);
  const known: Row | undefined = await db("public.document_date")
    .where({ repository_id: repositoryId, state })
    .first("date");
  if (known !== undefined) return known.date;
  const { rows } = await db.raw<{ rows: readonly Row[] }>(
    `insert into public.document_date as kept (repository_id, state, date)
     values (?, ?, date_trunc('second', ?::timestamptz))
     on conflict (repository_id) do update set
       state = excluded.state,
       date = case when kept.state = excluded.state then kept.date
         else greatest(excluded.date, kept.date + interval '1 second') end
     returning date`,
    [repositoryId, state, now],
  );
  return rows[0]?.date ?? now;
}
