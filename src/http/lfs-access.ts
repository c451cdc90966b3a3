import type { Knex } from "knex";
import type { Context } from "koa";

import { Scope } from "../events/access-token.ts";
import { UserId } from "../events/ids.ts";
import { mayGoOn } from "../git/connections.ts";
import type { LfsGrant, LfsOperation, LfsTokens } from "../platform/lfs-token.ts";
import { HttpRefusal } from "./errors.ts";
import type { Caller } from "./gate.ts";
import { type GitAccess, type GitAccessDeps, gitAccess } from "./git-access.ts";

export type LfsAccessDeps = GitAccessDeps & Readonly<{ db: Knex; lfsTokens: LfsTokens }>;

export type LfsAccess = GitAccess & Readonly<{ sshKeyId: string | undefined }>;

type Names = Readonly<{ ownerAlias: string; projectAlias: string }>;

/**
 * Who calls, and whether they may read or write the objects of the project: as git asks for it, or by
 * a short-lived token. The token says who it is; what they may do is looked up each time.
 *
 * @throws HttpRefusal 401; Refusal 403 for a missing right or scope, 404 for an unknown project
 */
export async function lfsAccess(
  ctx: Context,
  operation: LfsOperation,
  names: Names,
  deps: LfsAccessDeps,
): Promise<LfsAccess> {
  const token = /^bearer +(lflt_\S+) *$/i.exec(ctx.get("authorization"))?.[1];
  if (token === undefined) {
    const service = operation === "download" ? "upload-pack" : "receive-pack";
    return { ...(await gitAccess(ctx, service, names, deps)), sshKeyId: undefined };
  }
  const grant = deps.lfsTokens.verify(token);
  if (grant === undefined || !(await isGood(grant, deps))) throw wrongToken();
  // A token for uploads downloads as well: what is there is looked at before it is sent.
  if (operation === "upload" && grant.operation !== "upload") throw wrongToken();
  const caller = callerOf(grant);
  const role = operation === "download" ? "GUEST" : "DEVELOPER";
  const place = await deps.project(names, caller, role);
  if (place.project.id !== grant.projectId) throw wrongToken();
  return { caller, ...place, sshKeyId: grant.keyId ?? undefined };
}

function isGood({ userId, keyId, tokenId }: LfsGrant, { db }: LfsAccessDeps): Promise<boolean> {
  const proof = { tokenId: tokenId ?? null, sshKeyId: keyId ?? undefined };
  return mayGoOn(db, { userId, ...proof, byApplication: false });
}

function callerOf({ userId, alias, keyId, tokenId }: LfsGrant): Caller {
  const via = keyId !== null ? "ssh" : tokenId === undefined ? "password" : "token";
  return {
    actor: { userId, alias, via, tokenId: tokenId ?? null },
    userId: UserId.parse(userId),
    isAdmin: false,
    scopes: new Set(Scope.options),
  };
}

function wrongToken(): HttpRefusal {
  const message = "The token is expired, revoked, or for something else.";
  return new HttpRefusal(401, "auth.required", message, {
    "WWW-Authenticate": 'Basic realm="git", charset="UTF-8"',
  });
}
