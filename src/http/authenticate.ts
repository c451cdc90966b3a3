import type { Knex } from "knex";
import type { Context } from "koa";

import { Scope } from "../events/access-token.ts";
import { UserId } from "../events/ids.ts";
import { verifyPassword } from "../platform/password.ts";
import { Refusal } from "../platform/refusal.ts";
import { hashToken, isToken } from "../platform/token.ts";
import { findLogin, findTokenCaller } from "../projections/caller.ts";
import type { Access } from "./access.ts";
import type { Caller } from "./gate.ts";

/** Hashing is slow on purpose; more callers than this in line would wait longer than they stay. */
const passwordsWaitingMax = 32;
/** Longer texts are no password of ours, and hashing them costs. */
const credentialsLengthMax = 512;

export type Authenticate = Readonly<{
  /** @throws Refusal 403 when the access asks for more than the request proves */
  caller: (ctx: Context, access: Access) => Promise<Caller>;
  /**
   * Git and package clients send a name and either the account's password or an access token, which
   * then counts whatever the name. Null when neither is right.
   */
  basic: (login: string, secret: string) => Promise<Caller | null>;
}>;

export const anonymous: Caller = {
  actor: { userId: null, alias: null, via: "anonymous", tokenId: null },
  userId: null,
  isAdmin: false,
  scopes: new Set(),
};

export function authenticate(db: Knex, now: () => Date): Authenticate {
  let waiting = 0;

  async function byToken(token: string): Promise<Caller | null> {
    if (!isToken(token)) return null;
    const row = await findTokenCaller(db, hashToken(token));
    if (row === undefined || row.banned_at !== null || row.forgotten_at !== null) return null;
    if (row.expires_at !== null && row.expires_at < now()) return null;
    const userId = UserId.parse(row.user_id);
    return {
      actor: { userId, alias: row.alias, via: "token", tokenId: row.token_id },
      userId,
      isAdmin: row.is_admin,
      scopes: new Set(row.scopes),
    };
  }

  async function byPassword(login: string, password: string): Promise<Caller | null> {
    if (waiting >= passwordsWaitingMax) {
      const message = "Too many logins at once.";
      throw new Refusal("unavailable", "auth.busy", message, { retryAfterSeconds: 1 });
    }
    waiting += 1;
    try {
      const row = await findLogin(db, login);
      // The work is done for unknown and blocked users too: the time taken tells nothing.
      const right = await verifyPassword(password, row?.password_hash ?? null);
      if (!right || row === undefined) return null;
      if (row.banned_at !== null || row.forgotten_at !== null) return null;
      return {
        actor: { userId: row.id, alias: row.alias, via: "password", tokenId: null },
        userId: row.id,
        isAdmin: row.is_admin,
        scopes: new Set(Scope.options),
      };
    } finally {
      waiting -= 1;
    }
  }

  return {
    async caller(ctx, access) {
      const header = ctx.get("authorization");
      if (access === "basic") {
        const credentials = basicCredentials(header);
        const caller = credentials && (await byPassword(...credentials));
        return caller ?? refuseCredentials();
      }
      if (header === "" && access === "anonymous") return anonymous;
      const token = /^(?:token|bearer) +(\S+) *$/i.exec(header)?.[1];
      const caller = token === undefined ? null : await byToken(token);
      return caller ?? refuseToken();
    },
    async basic(login, secret) {
      if (tooLong(login, secret)) return null;
      return isToken(secret) ? await byToken(secret) : await byPassword(login, secret);
    },
  };
}

/**
 * RFC 7617: base64 of `login:password`, in UTF-8; the first colon parts them. Undefined when the
 * header is none of that.
 */
export function basicCredentials(header: string): readonly [string, string] | undefined {
  const encoded = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0 || text.includes("\0")) return undefined;
  const [login, password] = [text.slice(0, colon), text.slice(colon + 1)];
  return tooLong(login, password) ? undefined : [login, password];
}

function tooLong(login: string, secret: string): boolean {
  return login.length + secret.length > credentialsLengthMax;
}

function refuseToken(): never {
  const message = "The token is missing, malformed, unknown, expired or revoked.";
  throw new Refusal("forbidden", "auth.token_invalid", message);
}

function refuseCredentials(): never {
  const message = "Alias and password are needed as Basic authentication, and do not match.";
  throw new Refusal("forbidden", "auth.credentials_invalid", message);
}
