import type { ServerResponse } from "node:http";
import type { Context } from "koa";

import { peerAddress } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";

export const peerOf = (ctx: Context): string => peerAddress(ctx.req.socket);

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborts when the client of a request closes its connection before it has the whole answer. */
export const clientSignal =
  ({ res }: Pick<Context, "res">) =>
  (): AbortSignal => {
    const known = signals.get(res);
    if (known !== undefined) return known;
    const gone = new AbortController();
    signals.set(res, gone.signal);
    const lookWhy = (): void => {
      if (!res.writableFinished) gone.abort(clientGone());
    };
    if (res.closed) lookWhy();
    else res.once("close", lookWhy);
    return gone.signal;
  };

/** None reads this refusal. */
function clientGone(): Refusal {
  return new Refusal("unavailable", "client.gone", "The client has closed its connection.");
}
