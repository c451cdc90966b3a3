import type { Context } from "koa";

/** Address of the peer, an IPv4 one on a dual-stack socket written as IPv4. */
export function peerOf(ctx: Context): string {
  return (ctx.req.socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}
