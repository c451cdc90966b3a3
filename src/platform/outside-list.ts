import { z } from "zod";

/** Of any list in a document from outside: tags of an image are the longest that are real, some ten thousand. */
export const outsideListMax = 100_000;

/** Its length is checked before what is in it. */
export const outsideList = <Item extends z.ZodType>(item: Item, min = 0) =>
  z.array(z.unknown()).min(min).max(outsideListMax).pipe(z.array(item));
