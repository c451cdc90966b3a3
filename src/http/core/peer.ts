import type { Context } from "koa";

import { peerAddress } from "../../platform/network.ts";

export const peerOf = (ctx: Context): string => peerAddress(ctx.req.socket);
