import { z } from "zod";

/** Of any list in a document from outside: tags of an image are the longest that are real, some ten thousand. */
export const outsideListMax = 100_000;

export const outsideList = <Item extends z.ZodType>(item: Item): z.ZodArray<Item> =>
  z.array(item).max(outsideListMax);
