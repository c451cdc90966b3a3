import type { ServerResponse } from "node:http";
import type { Context } from "koa";

import { peerAddress } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";

export const peerOf = (ctx: Context): string => peerAddress(ctx.req.socket);

const ends = new WeakMap<ServerResponse, Set<() => void>>();

/**
 * Runs something once an answer is out or its client is gone; at once when that is so already. However many are given,
 * the response has one listener: Koa's own seven leave few before Node.js warns.
 *
 * @returns takes it back
 */
export function whenClosed(res: ServerResponse, end: () => void): () => void {
  if (res.closed || res.destroyed) {
    end();
    return () => undefined;
  }
  const all = ends.get(res) ?? listen(res);
  // Each time another function, so that the same one may be given twice.
  const own = () => end();
  all.add(own);
  return () => void all.delete(own);
}

function listen(res: ServerResponse): Set<() => void> {
  const all = new Set<() => void>();
  ends.set(res, all);
  res.once("close", () => {
    for (const end of all) end();
  });
  return all;
}

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborts when the client of a request closes its connection before it has the whole answer. */
export const clientSignal =
  ({ res }: Pick<Context, "res">) =>
  (): AbortSignal => {
    const signal = signals.get(res);
    if (signal !== undefined) return signal;
    const disconnected = new AbortController();
    signals.set(res, disconnected.signal);
    const lookWhy = (): void => {
      if (!res.writableFinished) disconnected.abort(clientDisconnected());
    };
    whenClosed(res, lookWhy);
    return disconnected.signal;
  };

/** None reads this refusal. */
function clientDisconnected(): Refusal {
  return new Refusal("unavailable", "client.gone", "The client has closed its connection.");
}
