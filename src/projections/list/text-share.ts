import type { Knex } from "knex";

/** Of the texts on one page of a list. They may be stored longer than what is taken today. */
const bytesMax = 2 * 1024 ** 2;
/** Longer than any text. */
const wholeLength = 2 ** 31 - 1;

/**
 * How many characters of each text fit on a page: all of them while the texts of the page are short
 * together, else an equal share. The length of a text is known without reading it.
 *
 * @param page selects the texts of the page as `text`
 */
export async function sharedLength(db: Knex, page: Knex.QueryBuilder): Promise<number> {
  const sums = await db
    .from(page.as("page"))
    .select(db.raw("coalesce(sum(octet_length(text)), 0) as bytes, count(*) as texts"))
    .first<{ bytes: string; texts: bigint }>();
  if (Number(sums.bytes) <= bytesMax) return wholeLength;
  return Math.floor(bytesMax / Number(sums.texts));
}
