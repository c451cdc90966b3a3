import type { Knex } from "knex";

/** Letters that lower case leaves beside those that the simple case folding of Unicode makes of them. */
const variants =
  "\u00b5\u017f\u0345\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86\u1c87\u1c88\u1e9b";
const letters =
  "\u03bcs\u03b9\u03c3\u03b2\u03b8\u03c6\u03c0\u03ba\u03c1\u03b5\u0432\u0434\u043e\u0441\u0442\u0442\u044a\u0463\ua64b\u1e61";

/**
 * Most of what most people write, where NFC and folding do nothing but to change case and the final sigma: normalising
 * takes twenty times as long as all else.
 */
const plain = [
  ...[
    "\\u0001-\\u00b4",
    "\\u00b6-\\u012f",
    "\\u0131-\\u017e",
    "\\u0180-\\u02ff",
    "\\u0370-\\u0373",
  ],
  ...[
    "\\u0388-\\u03cf",
    "\\u0400-\\u0482",
    "\\u048a-\\u058f",
    "\\u05d0-\\u05ea",
    "\\u0620-\\u064a",
  ],
  ...[
    "\\u0660-\\u066f",
    "\\u0671-\\u06d5",
    "\\u1e00-\\u1e9a",
    "\\u1e9c-\\u1eff",
    "\\u2002-\\u20cf",
  ],
  ...[
    "\\u2190-\\u2ad0",
    "\\u3001-\\u3029",
    "\\u3030-\\u3098",
    "\\u309b-\\u30ff",
    "\\u3400-\\u9fff",
  ],
  ...["\\uac00-\\ud7a3", "\\ufe0f", "\\uff01-\\uffee", "\\U0001f000-\\U0001faff"],
].join("");

/**
 * The form in which texts are compared by searches: composed (NFC), and without case. The service makes the same of what
 * is searched for. Not strict, so that PostgreSQL writes the expression into a query in the place of the call.
 */
export async function up(db: Knex): Promise<void> {
  const { rows } = await db.raw<{ rows: { version: number }[] }>(
    "select current_setting('server_version_num')::int as version",
  );
  // The case of other collations depends on the machine; this one is in PostgreSQL from 17 on.
  const collation = (rows[0]?.version ?? 0) >= 170_000 ? "pg_c_utf8" : "default";
  const lower = (text: string): string => `lower(${text} collate pg_catalog."${collation}")`;
  await db.raw(
    `create function public.folded(text) returns text language sql immutable parallel safe as $$
       select case when octet_length($1) = char_length($1) then ${lower("$1")}
         when $1 ~ '[^${plain}]'
         then translate(${lower("translate(normalize($1, NFC), '\u0130', 'i')")}, '${variants}', '${letters}')
         else replace(${lower("$1")}, '\u03c2', '\u03c3')
       end
     $$`,
  );
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop function public.folded(text) cascade");
}
