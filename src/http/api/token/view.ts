import { z } from "zod";
import { accessToken } from "../../../commands/token/access-token.ts";
import { AccessTokenId, type UserId } from "../../../events/core/ids.ts";
import { Scope, type TokenKind } from "../../../events/token/access-token.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { derivedToken, hashToken, tokenPrefixes } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Part } from "../../../projections/list/list-rows.ts";
import { findTokenByName, listTokenRows } from "../../../projections/token/access-token.ts";
import { requireScope } from "../../access/gate.ts";
import { usesOf } from "../../access/token-use.ts";
import type { Deps } from "../../core/deps.ts";
import { Expiry } from "../../core/expiry.ts";
import type { RequestFor } from "../../core/request.ts";
import { route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";

/** More than there are: one that comes twice counts once. */
export const scopesMax = 50;

/** A name is a segment of the path that revokes the token; clients resolve dots and slashes there. */
export const TokenName = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .regex(
    /^(?:(?:[^./]|\.[^./]|\.\.[^/])[^/]*)?$/,
    "A token's name has no slash and is neither . nor ..",
  );

export const TokenView = z
  .object({
    name: z.string(),
    scopeSet: z.array(Scope),
    expiresAt: instant().nullable(),
    createdAt: instant(),
    lastUsedAt: instant().nullable().meta({ description: "To the minute." }),
  })
  .meta({ id: "TokenInfo", description: "A token without its text, which is shown once." });

/** The body that requests a token with some of these scopes. */
export const newToken = <S extends z.ZodType<Scope, Scope>>(scope: S) =>
  z.object({
    name: TokenName,
    scopes: z.array(scope).min(1, "A token needs at least one scope").max(scopesMax),
    expiresAt: Expiry.meta({
      description: "The last day on which the token is valid; without one it never ends.",
    }),
  });

/** Where one lists and revokes one's tokens of a kind. */
export function ownTokens(kind: TokenKind, noun: "Access" | "Transport", list: string) {
  const path = `/user/settings/${noun.toLowerCase()}-token` as const;
  const a = kind === "ACCESS" ? "an access" : "a transport";
  const own = { tag: "User settings", access: "user" } as const;
  return [
    route({
      ...own,
      method: "delete",
      path: `${path}/{name}`,
      operationId: `revoke${noun}Token`,
      notForApplications: true,
      summary: `Revoke ${a} token`,
      scope: "USER_WRITE",
      reply: "empty",
      handle: ({ params, request }, deps) => revokeToken(kind, params.name, request, deps),
    }),
    route({
      ...own,
      method: "get",
      path,
      operationId: `list${noun}Tokens`,
      summary: `List one's ${noun.toLowerCase()} tokens`,
      scope: "USER_READ",
      list,
      reply: TokenView,
      handle: ({ page, request }, deps) => listTokens(kind, request.userId, page, deps),
    }),
  ];
}

type NewToken = Readonly<{ name: string; scopes: readonly Scope[]; expiresAt: string | null }>;

const prefixOf = { ACCESS: tokenPrefixes.access, TRANSPORT: tokenPrefixes.transport } as const;
const purposeOf = { ACCESS: "access token", TRANSPORT: "transport token" } as const;

/**
 * A token makes no token with a scope that it lacks itself.
 *
 * @throws Refusal 403 `auth.scope_missing`, 422 `token.name_taken`
 */
export async function createToken(
  kind: TokenKind,
  { name, scopes, expiresAt }: NewToken,
  request: RequestFor<"user">,
  { vault, now }: Deps,
) {
  const { userId, commandId } = request;
  for (const scope of scopes) requireScope(request, scope);
  const [prefix, purpose] = [prefixOf[kind], purposeOf[kind]];
  const token = derivedToken(vault, { prefix, purpose, of: commandId });
  const command = {
    type: "CreateAccessToken",
    tokenId: AccessTokenId.parse(deterministicId(commandId, purpose)),
    userId,
    kind,
    name,
    scopes,
    tokenHash: hashToken(token),
    expiresAt,
    at: now().toISOString(),
  } as const;
  await request.execute(accessToken, userId, command);
  return { token, name, scopeSet: [...new Set(scopes)], expiresAt };
}

export async function listTokens(kind: TokenKind, userId: UserId, page: Part, { db }: Deps) {
  const { rows, total } = await listTokenRows(db, { kind, userId, ...page });
  const uses = await usesOf(
    db,
    rows.map(({ id }) => id),
  );
  const items = rows.map((row) => ({
    name: row.name,
    scopeSet: [...row.scopes],
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    lastUsedAt: uses.get(row.id) ?? null,
  }));
  return { items, totalElements: total };
}

/** The token opens nothing from here on. @throws Refusal 404 `token.not_found` */
export async function revokeToken(
  kind: TokenKind,
  name: string,
  request: RequestFor<"user">,
  { db, now }: Deps,
): Promise<void> {
  const { userId } = request;
  const row = await findTokenByName(db, { kind, userId, name });
  if (row === undefined) throw new Refusal("not_found", "token.not_found", "Token not found.");
  const tokenId = AccessTokenId.parse(row.id);
  const at = now().toISOString();
  const command = { type: "RevokeAccessToken", tokenId, by: userId, at } as const;
  await request.execute(accessToken, userId, command);
}
