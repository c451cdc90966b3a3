import { createHash } from "node:crypto";
import type { Context } from "koa";
import { UserId } from "../../events/core/ids.ts";
import { Scope } from "../../events/token/access-token.ts";
import { asCaller } from "../../platform/caller.ts";
import { verifyPassword } from "../../platform/identity/password.ts";
import { hashToken, isToken, tokenPrefixes } from "../../platform/key/token.ts";
import { Limit } from "../../platform/limit.ts";
import { neighbourhoodOf } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  findLogin,
  findOAuthCaller,
  findTokenCaller,
  type TokenCallerRow,
} from "../../projections/access/caller.ts";
import type { UserRow } from "../../projections/user/user.ts";
import { type CachedQuery, cachedQuery } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";
import { peerOf } from "../core/peer.ts";
import { stateOf } from "../core/state.ts";
import type { Access } from "./access.ts";
import type { ApiLimit } from "./api-limit.ts";
import { basicCredentials, canBePassword } from "./credentials.ts";
import type { DirectoryPassword } from "./directory-password.ts";
import { mustHaveProvedEmail } from "./email-rule.ts";
import type { Caller } from "./gate.ts";
import { codeRequired } from "./second-factor.ts";
import { tokenUse } from "./token-use.ts";

/**
 * Passwords that are checked or wait for it, by the place they come from and by account. Hashing is slow on purpose:
 * more of one place would wait longer than their clients stay.
 */
const checksMax = { total: 256, whenFull: "refuse", refusal: loginsBusy } as const;
const fromPlace = new Limit({ name: "login.checks_by_network", share: 16, ...checksMax });
const forAccount = new Limit({ name: "login.checks_by_account", share: 8, ...checksMax });

export type Authenticate = Readonly<{
  /** @throws Refusal 403 when the access requires more than the request authenticates */
  caller: (ctx: Context, access: Access) => Promise<Caller>;
  /**
   * Git, package and image clients send a token, or a name with either the account's password or an access token, which
   * then counts whatever the name. Null when what they send is wrong; anonymous when they send nothing.
   *
   * @param header in the place of `Authorization`
   * @throws Refusal 403 `auth.locked`, `auth.otp_required`; 429 `api.limit_exceeded`; 503 `auth.busy`
   */
  client: (ctx: Context, header?: string) => Promise<Caller | null>;
  /**
   * Counts a wrong token of any kind as a request of its sender's address.
   *
   * @throws Refusal 429 `api.limit_exceeded`
   */
  countWrongToken: (ctx: Context) => Promise<void>;
  /**
   * Checks the first factor alone; the caller has to check the second, as signIn does. Returns the
   * account with this alias or e-mail and this password; null when there is none, or it is blocked.
   *
   * @throws Refusal 403 `auth.locked`, 503 `auth.busy`
   */
  password: ByPassword;
}>;

type ByPassword = (login: string, password: string, ip: string) => Promise<UserRow | null>;

export type AuthenticateDeps = Pick<
  Deps,
  "db" | "now" | "log" | "settings" | "lockout" | "secondFactor" | "onChange"
> &
  Readonly<{ directoryPassword?: DirectoryPassword; limit?: ApiLimit }>;

const nowhere: DirectoryPassword = async () => false;

export const anonymous: Caller = {
  actor: { userId: null, alias: null, via: "anonymous", tokenId: null },
  userId: null,
  isAdmin: false,
  scopes: new Set(),
};

export function authenticate(deps: AuthenticateDeps): Authenticate {
  const byToken = tokenCheck(deps);
  const checkPassword = passwordCheck(deps);
  const byPassword: ByPassword = async (login, secret, ip) =>
    canBePassword(login, secret) ? await checkPassword(login, secret, ip) : null;

  async function countWrongToken(ctx: Context): Promise<void> {
    await deps.limit?.(ctx, anonymous, peerOf(ctx));
  }

  async function bySecret([login, secret]: readonly [string, string], ctx: Context) {
    if (isToken(secret)) return await byToken(secret);
    const user = await byPassword(login, secret, peerOf(ctx));
    if (user === null) return null;
    // There is nowhere to type a code: a token proves that one was given.
    if (await deps.secondFactor.isRequired(user.id)) throw codeRequired(tokenInstead);
    return byPasswordOf(user);
  }

  return {
    async caller(ctx, access) {
      const header = ctx.get("authorization") || privateToken(ctx);
      if (access === "basic") {
        if (!(await deps.settings()).enableBasicAuth) throw basicDisabled();
        const credentials = basicCredentials(header);
        if (credentials === undefined || !canBePassword(...credentials)) {
          if (header !== "") await countWrongToken(ctx);
          return refuseCredentials();
        }
        const user = await checkPassword(...credentials, peerOf(ctx));
        if (!user) return refuseCredentials();
        await mustGiveBothFactors(user, ctx, deps);
        return byPasswordOf(user);
      }
      if (access === "client" || access === "agent") return anonymous;
      if (header === "" && access === "anonymous") return anonymous;
      const token = tokenIn(header);
      const caller = token === undefined ? null : await byToken(token);
      if (caller === null && header !== "") await countWrongToken(ctx);
      return caller ?? refuseToken();
    },
    async client(ctx, header = ctx.get("authorization")) {
      if (header === "") return anonymous;
      const basic = basicCredentials(header);
      const caller = await (basic === undefined
        ? byToken(tokenIn(header) ?? "")
        : bySecret(basic, ctx));
      // A guess at a password is counted where it is checked.
      const isGuess = basic !== undefined && canBePassword(...basic);
      if (caller === null && !isGuess) await countWrongToken(ctx);
      return caller;
    },
    countWrongToken,
    password: byPassword,
  };
}

const tokenIn = (header: string): string | undefined =>
  /^(?:token|bearer) +(\S+) *$/i.exec(header)?.[1];

/** Clients of the protocol of agents send the token of a person so; everywhere else there is one way. */
function privateToken(ctx: Context): string {
  const token = ctx.path.startsWith("/api/v4/") ? ctx.get("private-token") : "";
  return token === "" ? "" : `bearer ${token}`;
}

const tokenInstead = "Use an access token in the place of the password.";

/** @throws Refusal 403 `auth.otp_required`, `auth.otp_wrong`, `auth.locked` */
async function mustGiveBothFactors(
  user: UserRow,
  ctx: Context,
  deps: AuthenticateDeps,
): Promise<void> {
  if (!(await deps.secondFactor.isRequired(user.id))) return;
  const code = ctx.get("x-otp");
  if (code === "") throw codeRequired("Send a code of your device as X-OTP beside the password.");
  const { requestId } = stateOf(ctx);
  await deps.secondFactor.verify({ user, code, ip: peerOf(ctx), requestId });
}

function tokenCheck(deps: AuthenticateDeps): (token: string) => Promise<Caller | null> {
  const { db, log, now } = deps;
  const tokens = cachedTokens(deps);
  const noteUse = tokenUse(db, log, now);
  return async (token) => {
    if (!isToken(token)) return null;
    const row = await tokens.get(tokenKey(token));
    if (row === undefined || row.banned_at !== null || row.forgotten_at !== null) return null;
    if (row.expires_at !== null && row.expires_at < now()) return null;
    noteUse(row.token_id);
    const userId = UserId.parse(row.user_id);
    return {
      actor: {
        userId,
        alias: row.alias,
        via: row.application_id === null ? "token" : "oauth",
        tokenId: row.token_id,
      },
      userId,
      isAdmin: row.is_admin,
      scopes: new Set(row.scopes),
      ...(row.expires_at !== null && { expiresAt: row.expires_at }),
    };
  };
}

/** Tokens in use are queried once a second at most, and forgotten at once when they change. */
function cachedTokens({ db, onChange }: AuthenticateDeps): CachedQuery<TokenCallerRow> {
  const memory = cachedQuery((key) =>
    key.startsWith(oauthKey)
      ? findOAuthCaller(db, key.slice(oauthKey.length))
      : findTokenCaller(db, key),
  );
  onChange((subject) => {
    if (subject === undefined) memory.forget();
    else if (subject !== "settings") memory.forget((row) => concerns(row, subject));
  });
  return memory;
}

const oauthKey = "oauth ";

/** Key of a cached token: its hash, and the table that has it. */
function tokenKey(token: string): string {
  const isOAuth = token.startsWith(`${tokenPrefixes.oauthAccess}_`);
  return (isOAuth ? oauthKey : "") + hashToken(token);
}

function concerns({ user_id, application_id, owner_id }: TokenCallerRow, subject: string): boolean {
  const subjects = [`user-${user_id}`, `user-${owner_id}`, `application-${application_id}`];
  return subjects.includes(subject);
}

function passwordCheck(deps: AuthenticateDeps): ByPassword {
  const { db, lockout, settings, directoryPassword: elsewhere = nowhere } = deps;

  return async (login, password, ip) => {
    const row = await findLogin(db, login);
    // Whether there is such an account shows nowhere: an unknown one is counted and locked as well.
    const account = row?.id ?? createHash("sha256").update(login.toLowerCase()).digest("hex");
    const check = async (): Promise<UserRow | null> => {
      // The work is done for unknown and blocked users too: the time taken reveals nothing.
      const right =
        (await verifyPassword(password, row?.password_hash ?? null)) ||
        (await elsewhere(row, password));
      if (!right || row === undefined) return null;
      if (row.banned_at !== null || row.forgotten_at !== null) return null;
      return row;
    };
    const place = { caller: neighbourhoodOf(ip) };
    // Nobody is known yet: the share of hashing is that of the place.
    const found = await asCaller(place.caller, () =>
      fromPlace.run(
        () => forAccount.run(() => lockout.guard({ account, ip }, check), { caller: account }),
        place,
      ),
    );
    // Said only to who knows the password.
    if (found !== null) mustHaveProvedEmail(found, await settings());
    return found;
  };
}

function byPasswordOf({ id, alias, is_admin }: UserRow): Caller {
  return {
    actor: { userId: id, alias, via: "password", tokenId: null },
    userId: id,
    isAdmin: is_admin,
    scopes: new Set(Scope.options),
  };
}

export function loginsBusy(): Refusal {
  const message = "Too many logins at once.";
  return new Refusal("unavailable", "auth.busy", message, { retryAfterSeconds: 1 });
}

function refuseToken(): never {
  throw tokenNeeded();
}

export function tokenNeeded(): Refusal {
  const message = "The token is missing, malformed, unknown, expired or revoked.";
  return new Refusal("forbidden", "auth.token_invalid", message);
}

function basicDisabled(): Refusal {
  const message = "Tokens are not given by Basic authentication on this instance.";
  return new Refusal("forbidden", "auth.basic_disabled", message);
}

function refuseCredentials(): never {
  const message = "Alias and password are needed as Basic authentication, and do not match.";
  throw new Refusal("forbidden", "auth.credentials_invalid", message);
}
