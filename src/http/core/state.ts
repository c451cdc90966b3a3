import type { Context } from "koa";

import { completeOperation } from "../../platform/event-loop/operation.ts";
import { neighbourhoodOf } from "../../platform/network.ts";
import { peerOf } from "./peer.ts";
import type { Problem } from "./problem.ts";

/** What the machinery notes about one request for the log, the metrics and the error document. */
export type RequestState = {
  requestId: string;
  /** Which declared operation answers; undefined for unknown routes. */
  operationId?: string;
  userId?: string;
  /** Code of the refusal that ended the request. */
  code?: string;
  /** Set for pages: shows a problem to a person instead of a program. */
  showProblem?: (problem: Problem) => string;
};

export function stateOf(ctx: Pick<Context, "state">): RequestState {
  return ctx.state as RequestState;
}

/** Which operation a request turned out to be. @throws Refusal `operation.suspended` (503) */
export function noteOperation(ctx: Context, operationId: string): void {
  stateOf(ctx).operationId = operationId;
  completeOperation({ name: operationId });
}

/** Who sent a request, once that was checked. @throws Refusal `operation.suspended` (503) */
export function noteCaller(ctx: Context, userId: string | null): void {
  if (userId !== null) stateOf(ctx).userId = userId;
  completeOperation({ caller: userId ?? neighbourhoodOf(peerOf(ctx)) });
}
