import { z } from "zod";

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

export type PageRequest = Readonly<{ number: number; size: number; offset: number }>;

export function pageRequest(query: Readonly<{ page: number; size: number }>): PageRequest {
  return { number: query.page, size: query.size, offset: query.page * query.size };
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

/** The schema of a whole answer: `_embedded.<name>` and `page`. */
export function envelopeOf<Item extends z.ZodType>(name: string, item: Item) {
  return z.object({ _embedded: z.object({ [name]: z.array(item) }), page: PageInfo });
}

export function envelope<Item>(name: string, page: PageRequest, listed: Listed<Item>) {
  const { items, totalElements } = listed;
  const totalPages = Math.ceil(totalElements / page.size);
  return {
    _embedded: { [name]: items },
    page: { size: page.size, totalElements, totalPages, number: page.number },
  };
}
