import type { Knex } from "knex";
import type { Context } from "koa";
import { UserId } from "../../../events/core/ids.ts";
import { Scope } from "../../../events/token/access-token.ts";
import type {
  IssuedLfsToken,
  LfsGrant,
  LfsOperation,
  LfsTokens,
} from "../../../platform/key/lfs-token.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { mayGoOn } from "../../../services/git/connections.ts";
import { accessOfPusher } from "../../../services/git/push-rights.ts";
import type { Caller } from "../../access/gate.ts";
import { HttpRefusal } from "../../core/errors.ts";
import { type GitAccess, type GitAccessDeps, gitAccess } from "../git/access.ts";

export type LfsAccessDeps = GitAccessDeps &
  Readonly<{ now: () => Date; db: Knex; lfsTokens: LfsTokens }>;

/** `grant` is the right of a short-lived token: a token issued for it does not last longer. */
export type LfsAccess = GitAccess & Readonly<{ grant?: LfsGrant }>;

type Names = Readonly<{ ownerAlias: string; projectAlias: string }>;

/**
 * Who calls, and whether they may read or write the objects of the project: as git requests it, or by
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
    return await gitAccess(ctx, service, names, deps);
  }
  const grant = deps.lfsTokens.verify(token);
  if (grant === undefined || !(await isGood(grant, deps))) {
    await deps.authenticate.countWrongToken(ctx);
    throw wrongToken();
  }
  // A token for uploads downloads as well: what is there is checked before it is sent.
  if (operation === "upload" && grant.operation !== "upload") throw wrongToken();
  const caller = callerOf(grant);
  const role = operation === "download" ? "GUEST" : "DEVELOPER";
  const access = await deps.project(names, caller, role);
  if (access.project.id !== grant.projectId) throw wrongToken();
  return { caller, ...access, grant };
}

/**
 * Whether an upload that was let in may still be kept. The token that opened it may have expired while the
 * object came; what the token was issued for has to be good still.
 */
export async function mayStillUpload(
  { caller, project, grant }: LfsAccess,
  deps: Pick<LfsAccessDeps, "db" | "now"> & Readonly<{ tokens: LfsTokens }>,
): Promise<boolean> {
  const { db, now, tokens: lfsTokens } = deps;
  if (grant !== undefined && !(await isGood(grant, { db, now, lfsTokens }))) return false;
  const opened = { ...caller, sshKeyId: grant?.keyId ?? undefined };
  return (await accessOfPusher(db, { project, caller: opened }, now())) !== undefined;
}

type GrantDeps = Pick<LfsAccessDeps, "db" | "now" | "lfsTokens">;

async function isGood(grant: LfsGrant, { db, lfsTokens, now }: GrantDeps): Promise<boolean> {
  const { userId, keyId, tokenId, passwordMark } = grant;
  if (keyId === null && tokenId === undefined) {
    const row = await findUserById(db, userId);
    if (lfsTokens.passwordMark(row?.password_hash ?? null) !== passwordMark) return false;
  }
  const credential = { tokenId: tokenId ?? null, sshKeyId: keyId ?? undefined };
  return mayGoOn(db, { userId, ...credential, byApplication: false }, now());
}

/**
 * A token for the transfers that follow. It is as good as what the caller authenticated with:
 * requested with another such token, it ends with that one; requested with a password, it ends when
 * the password changes.
 */
export async function issueFor(
  { caller, project, grant }: LfsAccess,
  operation: LfsOperation,
  { db, tokens }: Readonly<{ db: Knex; tokens: LfsTokens }>,
): Promise<IssuedLfsToken | undefined> {
  if (grant !== undefined) return tokens.issue({ ...grant, operation });
  const { userId, actor } = caller;
  // An application's token is looked up elsewhere: its own token goes on serving.
  if (userId === null || actor.via === "oauth") return undefined;
  const row = actor.tokenId === null ? await findUserById(db, userId) : undefined;
  return tokens.issue({
    userId,
    alias: actor.alias ?? "",
    projectId: project.id,
    operation,
    keyId: null,
    tokenId: actor.tokenId ?? undefined,
    passwordMark: row && tokens.passwordMark(row.password_hash),
  });
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
