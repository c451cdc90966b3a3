import { z } from "zod";

import type { Part, Slice } from "../../projections/list/list-rows.ts";
import { int } from "./schema.ts";

const sizeDefault = 10;
const sizeMax = 200;
/** Far beyond any list; keeps `offset` a safe integer that PostgreSQL takes. */
const pageMax = 2 ** 31 - 1;

/** `page` from 0 and `size`; a size over 200 is served as 200. */
export function pageQuery(defaultSize = sizeDefault) {
  return z.object({
    page: int({ min: 0, max: pageMax }).default(0).meta({ description: "From 0." }),
    size: int({ min: 1 })
      .transform((size) => Math.min(size, sizeMax))
      .default(defaultSize)
      .meta({ description: `${defaultSize} when not given; served as ${sizeMax} at most.` }),
  });
}

export function pageRequest({ page, size }: Readonly<{ page: number; size: number }>): Part {
  return { limit: size, offset: page * size };
}

/** What a list operation answers: the rows of the page and how many there are in all. */
export type Listed<Item> = Readonly<{ items: readonly Item[]; totalElements: number }>;

export const PageInfo = z
  .object({
    size: z.int(),
    totalElements: z.int(),
    totalPages: z.int(),
    number: z.int(),
  })
  .meta({ id: "Page" });

/** The answer of a list, of the rows that a query found. */
export async function listed<Row, Item>(
  found: Promise<Slice<Row>>,
  present: (row: Row) => Item | Promise<Item>,
): Promise<Listed<Item>> {
  const { rows, total: totalElements } = await found;
  return { items: await Promise.all(rows.map((row) => present(row))), totalElements };
}

/** The schema of a whole answer: `_embedded.<name>` and `page`. */
export function envelopeOf<Item extends z.ZodType>(name: string, item: Item) {
  return z.object({ _embedded: z.object({ [name]: z.array(item) }), page: PageInfo });
}

export function envelope<Item>(name: string, page: Part, { items, totalElements }: Listed<Item>) {
  return { _embedded: { [name]: items }, page: pageInfo(page, totalElements) };
}

export function pageInfo(
  { limit, offset }: Part,
  totalElements: number,
): z.output<typeof PageInfo> {
  const totalPages = Math.ceil(totalElements / limit);
  return { size: limit, totalElements, totalPages, number: offset / limit };
}

/** Of a list that is paged by number. */
const Numbered = z.object({
  number: z.int(),
  totalPages: z.int(),
  totalElements: z.int(),
});
/** Of a list that is paged by position in the log: what is older, and what is newer. */
const Positioned = z.object({ before: z.string().nullish(), after: z.string().nullable() });

const Paged = z.union([
  z.object({ page: Numbered }).transform(({ page }) => page),
  z.object({ page: Positioned }).transform(({ page }) => page),
  Numbered,
]);

/**
 * `Link` (RFC 8288) and `X-Total-Count` of an answer that is a page of a list, by what it says of its page.
 *
 * @param url of the request, whole
 */
export function pageHeaders(answer: unknown, url: string): Readonly<Record<string, string>> {
  const { data: page } = Paged.safeParse(answer);
  if (page === undefined) return {};
  if (!("totalPages" in page)) return linkHeader(url, positions(page));
  const last = Math.max(page.totalPages - 1, 0);
  const targets = {
    first: { page: 0 },
    ...(page.number > 0 && { prev: { page: Math.min(page.number - 1, last) } }),
    ...(page.number < last && { next: { page: page.number + 1 } }),
    last: { page: last },
  };
  return { "X-Total-Count": String(page.totalElements), ...linkHeader(url, targets) };
}

type Targets = Readonly<Record<string, Readonly<Record<string, string | number>>>>;

/** The audit goes back in time from its newest entry, the feed on from its oldest. */
function positions({ before, after }: z.output<typeof Positioned>): Targets {
  if (before === undefined) return after === null ? {} : { next: { after } };
  return {
    ...(after !== null && { prev: { after } }),
    ...(before !== null && { next: { before } }),
  };
}

function linkHeader(url: string, targets: Targets): Readonly<Record<string, string>> {
  const links = Object.entries(targets).map(([rel, place]) => `<${at(url, place)}>; rel="${rel}"`);
  return links.length === 0 ? {} : { Link: links.join(", ") };
}

function at(url: string, place: Targets[string] = {}): string {
  const target = new URL(url);
  for (const name of ["before", "after"]) target.searchParams.delete(name);
  for (const [name, value] of Object.entries(place)) target.searchParams.set(name, String(value));
  return target.href;
}
