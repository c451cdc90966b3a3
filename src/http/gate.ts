import type { Context } from "koa";

import type { Scope } from "../events/access-token.ts";
import type { Actor } from "../events/event.ts";
import type { UserId } from "../events/ids.ts";
import { Refusal } from "../platform/refusal.ts";
import type { ProjectRow } from "../projections/project.ts";
import type { Access, Role } from "./access.ts";

/** Who is calling, as far as they proved it. */
export type Caller = Readonly<{
  actor: Actor;
  userId: UserId | null;
  isAdmin: boolean;
  scopes: ReadonlySet<Scope>;
}>;

export type ResolvedProject = Readonly<{ project: ProjectRow; role: Role }>;

/** Proves callers and finds what their roles are. */
export type Gate = Readonly<{
  /** @throws Refusal 403 `auth.token_invalid` and its kind when the access asks for more than was proved */
  caller: (ctx: Context, access: Access) => Promise<Caller>;
  /** @throws Refusal 404 when there is no such project, 403 when the caller's role is too low */
  project: (
    params: Readonly<Record<string, unknown>>,
    caller: Caller,
    needed: Role,
  ) => Promise<ResolvedProject>;
}>;

/** WRITE contains READ of the same resource; PROJECT_EDIT stands alone. */
const implied: Partial<Record<Scope, readonly Scope[]>> = {
  USER_READ: ["USER_WRITE"],
  PROJECT_READ: ["PROJECT_WRITE"],
  TEAM_READ: ["TEAM_WRITE"],
  COMPANY_READ: ["COMPANY_WRITE"],
  READ_REGISTRY: ["WRITE_REGISTRY"],
};

export function hasScope(scopes: ReadonlySet<Scope>, scope: Scope): boolean {
  return scopes.has(scope) || (implied[scope] ?? []).some((wider) => scopes.has(wider));
}

export function requireScope(caller: Caller, scope: Scope | "none"): void {
  if (scope === "none" || caller.userId === null || hasScope(caller.scopes, scope)) return;
  const message = `This operation needs a token with the scope ${scope}.`;
  throw new Refusal("forbidden", "auth.scope_missing", message, { extra: { scope } });
}
