import type { Context } from "koa";

import { type Hold, Limit } from "../../../../platform/limit.ts";
import { whenClosed } from "../../../core/peer.ts";
import { upstreamBusy } from "./upstream-busy.ts";

/** For documents of external registries, while they come and until the answers made of them are sent. */
export const documentBudget = new Limit({
  name: "registry.document_bytes",
  total: 768 * 1024 ** 2,
  share: 192 * 1024 ** 2,
  whenFull: "refuse",
  refusal: upstreamBusy,
});

const holds = new WeakMap<Context["res"], Hold>();

/** Of the documents that one answer is made of, until it is sent or its client is gone. */
export function documentsFor({ res }: Pick<Context, "res">): Hold {
  const known = holds.get(res);
  if (known !== undefined) return known;
  const hold = documentBudget.take(0);
  holds.set(res, hold);
  whenClosed(res, hold.leave);
  return hold;
}
