import type { Context } from "koa";

import { ByteBudget, type Hold } from "./byte-budget.ts";

/** For documents of external registries, while they come and until the answers made of them are sent. */
export const documentBudget = new ByteBudget(768 * 1024 ** 2, 192 * 1024 ** 2);

const holds = new WeakMap<Context["res"], Hold>();

/** Of the documents that one answer is made of, until it is sent or its client is gone. */
export function documentsFor({ res }: Pick<Context, "res">): Hold {
  const known = holds.get(res);
  if (known !== undefined) return known;
  const hold = documentBudget.take(0);
  holds.set(res, hold);
  if (res.closed || res.destroyed) hold.leave();
  else res.once("close", hold.leave);
  return hold;
}
