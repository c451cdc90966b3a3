import type { Context } from "koa";
import type { z } from "zod";

import { requestedBy } from "../../../commands/core/requested.ts";
import type { EventMetadata } from "../../../events/core/event.ts";
import type { Room } from "../../../platform/blob/room.ts";
import type { LfsOperation, LfsTokens } from "../../../platform/key/lfs-token.ts";
import type { Caller } from "../../access/gate.ts";
import { bodyLimitsDefault, readJson } from "../../core/body.ts";
import type { Deps } from "../../core/deps.ts";
import { peerOf } from "../../core/peer.ts";
import { checked } from "../../core/schema.ts";
import { stateOf } from "../../core/state.ts";
import type { LfsAccess } from "./access.ts";

export type LfsRequest = Readonly<{
  ctx: Context;
  /** Named groups of the call's path. */
  params: Readonly<Record<string, string | undefined>>;
  /** Who calls, once it is known what they want. @throws when they may not */
  authenticate: (operation: LfsOperation) => Promise<LfsAccess>;
  tokens: LfsTokens;
  /** What the quota of a project leaves. */
  bytesLeft: (project: LfsAccess["project"]) => Promise<number>;
  /** Room in it for an object of so many bytes. @throws Refusal 413 `project.full` */
  hold: (project: LfsAccess["project"], bytes: number) => Promise<Room>;
}>;

/** One operation of git-lfs. */
export type LfsCall = Readonly<{
  method: "GET" | "POST" | "PUT";
  /** Of what follows `info/lfs/`. */
  path: RegExp;
  /** In logs and metrics. */
  operationId: string;
  handle: (request: LfsRequest, deps: Deps) => Promise<void>;
}>;

/** @throws Refusal 400, 413, 422 */
export async function lfsBody<Schema extends z.ZodType>(
  { ctx }: LfsRequest,
  schema: Schema,
): Promise<z.output<Schema>> {
  return checked(schema, (await readJson(ctx, bodyLimitsDefault)).json);
}

export function lfsAnswer({ ctx }: LfsRequest, status: number, value: unknown): void {
  ctx.status = status;
  ctx.body = JSON.stringify(value);
  ctx.set("Content-Type", "application/vnd.git-lfs+json");
  ctx.set("Cache-Control", "no-store");
}

/** The envelope of what a call does. */
export function lfsMetadata(
  { ctx }: LfsRequest,
  { userId, actor }: Caller,
  commandId: string,
  deps: Deps,
): Promise<EventMetadata> {
  const { requestId } = stateOf(ctx);
  return requestedBy(deps, { actor, userId, ip: peerOf(ctx), requestId, commandId });
}
