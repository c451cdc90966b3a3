import type { Context } from "koa";

import { UserId } from "../../../events/core/ids.ts";
import type { Scope } from "../../../events/token/access-token.ts";
import {
  type ContainerAction,
  type ContainerGrant,
  type ContainerTokens,
  containerTokenSeconds,
  isContainerToken,
} from "../../../platform/container/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findGrantHolder, type GrantCredential } from "../../../projections/access/caller.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { anonymous } from "../../access/authenticate.ts";
import { type Caller, requireScope } from "../../access/gate.ts";
import { callerOfJob } from "../../access/job-caller.ts";
import { HttpRefusal } from "../../core/errors.ts";
import {
  accessOf,
  type RegistryAccess,
  type RegistryAccessDeps,
  type Right,
  registryCaller,
} from "../package/core/access.ts";
import { queryParam } from "./call.ts";
import { mayListCatalog } from "./catalog.ts";
import { containerRefusal } from "./error.ts";
import { type ImageName, isImageName, readImageName, unknownName } from "./name.ts";

export type ContainerAccessDeps = RegistryAccessDeps & Readonly<{ tokens: ContainerTokens }>;

/** `again` checks once more what was found: what the caller authenticated with, and their right. */
export type ContainerAccess = RegistryAccess & Readonly<{ again: () => Promise<void> }>;

/** Who calls: by a token of this registry, or by what other registries take as well. */
type AuthenticatedCaller = Readonly<{ caller: Caller; grant: ContainerGrant | undefined }>;

const actionOf = (right: Right): ContainerAction => (right === "read" ? "pull" : "push");

/**
 * Who calls, and whether they may read or write the image. A token grants the access it was requested for; the
 * rights of its user are looked up each time.
 *
 * @throws HttpRefusal 401 with the challenge; Refusal 403, 404
 */
export async function containerAccess(
  ctx: Context,
  name: ImageName,
  right: Right,
  deps: ContainerAccessDeps,
): Promise<ContainerAccess> {
  const { publicUrl } = deps;
  const actions = right === "read" ? "pull" : "pull,push";
  const scope = `repository:${name.full}:${actions}${right === "read" ? "" : mountScope(ctx)}`;
  const { caller, grant } = await authenticated(ctx, scope, deps);
  const opened = grant?.access[name.full] ?? [];
  if (grant !== undefined && !opened.includes(actionOf(right))) {
    throw challenge(publicUrl, scope, "insufficient_scope");
  }
  try {
    const access = await accessOf(caller, name.native, right, deps);
    if (access.repository.package_type !== "container") throw unknownName();
    // A token is good for what begins while it is: the largest layers take longer.
    const again = async (): Promise<void> => {
      const now =
        grant === undefined ? await registryCaller(ctx, deps) : await callerOf(grant, deps);
      if (now === undefined) throw challenge(publicUrl, scope, "invalid_token");
      await accessOf(now, name.native, right, deps);
    };
    return { ...access, again };
  } catch (error) {
    if (error instanceof HttpRefusal && error.status === 401) throw challenge(publicUrl, scope);
    throw error;
  }
}

/** To mount a blob of another image a token has to open that as well: clients request what a challenge names. */
function mountScope({ query }: Pick<Context, "query">): string {
  const from = queryParam({ query }, "from");
  const isImage = query["mount"] !== undefined && from !== undefined && isImageName(from);
  return isImage ? ` repository:${from}:pull` : "";
}

/** For `/v2/` itself: whether the credentials are good. @throws HttpRefusal 401 */
export async function mustBeAuthenticated(
  ctx: Context,
  deps: ContainerAccessDeps,
): Promise<Caller> {
  const { caller, grant } = await authenticated(ctx, undefined, deps);
  if (caller.userId === null && grant === undefined) throw challenge(deps.publicUrl, undefined);
  return caller;
}

const catalogScope = "registry:catalog:*";
/** Among the images that a token opens; no image is called so. */
const catalogName = "registry:catalog";

/**
 * Who requests a list of images.
 *
 * @throws HttpRefusal 401 for callers without credentials or a token for it, Refusal 403 for a missing scope
 */
export async function catalogCaller(ctx: Context, deps: ContainerAccessDeps): Promise<Caller> {
  const { caller, grant } = await authenticated(ctx, catalogScope, deps);
  if (grant === undefined) {
    if (caller.userId === null && caller.job === undefined)
      throw challenge(deps.publicUrl, catalogScope);
    requireScope(caller, "READ_REGISTRY");
  } else if (grant.access[catalogName] === undefined) {
    throw challenge(deps.publicUrl, catalogScope, "insufficient_scope");
  }
  return caller;
}

async function authenticated(
  ctx: Context,
  scope: string | undefined,
  deps: ContainerAccessDeps,
): Promise<AuthenticatedCaller> {
  const bearer = /^bearer +(\S+) *$/i.exec(ctx.get("authorization"))?.[1];
  if (bearer === undefined || !isContainerToken(bearer)) {
    try {
      return { caller: await registryCaller(ctx, deps), grant: undefined };
    } catch (error) {
      const isWrong = error instanceof HttpRefusal && error.status === 401;
      throw isWrong ? challenge(deps.publicUrl, scope) : error;
    }
  }
  const grant = deps.tokens.verify(bearer);
  const caller = grant && (await callerOf(grant, deps));
  if (grant === undefined || caller === undefined) {
    await deps.authenticate.countWrongToken(ctx);
    throw challenge(deps.publicUrl, scope, "invalid_token");
  }
  return { caller, grant };
}

/** Undefined when the credentials that the token was requested with are no longer valid. */
async function callerOf(
  { user, access, jobTokenHash }: ContainerGrant,
  deps: ContainerAccessDeps,
): Promise<Caller | undefined> {
  const { db, tokens, now } = deps;
  if (jobTokenHash !== undefined) return await callerOfJob(db, jobTokenHash);
  if (user === null) return anonymous;
  const { id, alias, via, tokenId, passwordMark } = user;
  const row = await findGrantHolder(deps.db, credentialOf(user));
  if (row === undefined || (row.expires_at !== null && row.expires_at < now())) return undefined;
  if (tokenId === null && tokens.passwordMark(row.password_hash) !== passwordMark) return undefined;
  const granted = Object.values(access).flat();
  const scopes: Scope[] = ["READ_REGISTRY"];
  if (granted.includes("push")) scopes.push("WRITE_REGISTRY");
  return {
    actor: { userId: UserId.parse(id), alias, via, tokenId },
    userId: UserId.parse(id),
    isAdmin: row.is_admin,
    scopes: new Set(scopes),
  };
}

function credentialOf({ id, via, tokenId }: NonNullable<ContainerGrant["user"]>): GrantCredential {
  if (tokenId === null) return { userId: id, via: "password" };
  return { userId: id, via: via === "oauth" ? "oauth" : "token", tokenId };
}

function challenge(publicUrl: string, scope: string | undefined, error?: string): HttpRefusal {
  const { host } = new URL(publicUrl);
  const parts = [
    `realm="${publicUrl}/v2/token"`,
    `service="${host}"`,
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(error === undefined ? [] : [`error="${error}"`]),
  ];
  const message = "Sign in with your alias and a password or a token with a registry scope.";
  return containerRefusal(401, "UNAUTHORIZED", message, {
    "WWW-Authenticate": `Bearer ${parts.join(",")}`,
  });
}

const scopesMax = 20;
const scopeForm = /^repository(?:\([a-z]+\))?:(?<name>[^:]{1,255}):(?<actions>[a-z,*]{0,64})$/;

/**
 * Gives a token for the requested access that is allowed, without an error for the rest: distribution/docs,
 * spec/auth/token.md.
 *
 * @throws HttpRefusal 401 when there are credentials and they are wrong
 */
export async function issueToken(ctx: Context, deps: ContainerAccessDeps) {
  const caller = await tokenCaller(ctx, deps);
  const scopes = [ctx.query["scope"] ?? []].flat().flatMap((text) => text.split(" "));
  const access: Record<string, ContainerAction[]> = {};
  for (const text of scopes.slice(0, scopesMax)) {
    if (text === catalogScope && mayListCatalog(caller)) access[catalogName] = ["pull"];
    const { name = "", actions = "" } = scopeForm.exec(text)?.groups ?? {};
    const allowed = await allowedOf(caller, name, actions.split(","), deps);
    if (allowed.length > 0) access[name] = [...new Set([...(access[name] ?? []), ...allowed])];
  }
  const user = await userOf(caller, deps);
  const byJob = caller.job === undefined ? {} : { jobTokenHash: caller.job.tokenHash };
  const token = deps.tokens.issue({ user, access, ...byJob });
  const issued_at = deps.now().toISOString();
  return { token, access_token: token, expires_in: containerTokenSeconds, issued_at };
}

/** A token does not authorize another one: it would never end. */
async function tokenCaller(ctx: Context, deps: ContainerAccessDeps): Promise<Caller> {
  try {
    return await registryCaller(ctx, deps);
  } catch (error) {
    if (!(error instanceof HttpRefusal) || error.status !== 401) throw error;
    throw containerRefusal(401, "UNAUTHORIZED", error.message, error.headers);
  }
}

async function userOf({ userId, actor }: Caller, { db, tokens }: ContainerAccessDeps) {
  if (userId === null) return null;
  const { alias, tokenId } = actor;
  if (actor.via === "job") {
    return {
      id: userId,
      alias: alias ?? "",
      via: "job",
      tokenId: null,
      passwordMark: null,
    } as const;
  }
  const via = actor.via === "oauth" ? "oauth" : tokenId === null ? "password" : "token";
  const row = tokenId === null ? await findUserById(db, userId) : undefined;
  const passwordMark = row === undefined ? null : tokens.passwordMark(row.password_hash);
  return { id: userId, alias: alias ?? "", via, tokenId, passwordMark } as const;
}

async function allowedOf(
  caller: Caller,
  full: string,
  actions: readonly string[],
  deps: ContainerAccessDeps,
): Promise<readonly ContainerAction[]> {
  const requests = (action: string) => actions.includes(action) || actions.includes("*");
  const may = async (right: Right): Promise<boolean> => {
    try {
      const { repository } = await accessOf(caller, readImageName(full).native, right, deps);
      return repository.package_type === "container";
    } catch (error) {
      if (error instanceof HttpRefusal || error instanceof Refusal) return false;
      throw error;
    }
  };
  // Deletion is requested as `delete`, and needs the right to write.
  const wantsPush = requests("push") || requests("delete");
  return [
    ...(requests("pull") && (await may("read")) ? (["pull"] as const) : []),
    ...(wantsPush && (await may("write")) ? (["push"] as const) : []),
  ];
}
