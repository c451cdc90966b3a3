import { z } from "zod";

import { UserId } from "../../../events/core/ids.ts";
import { partsOfSealed, Sealed } from "../../../events/core/sealed.ts";
import { loginConnectionSubject } from "../../../events/login/connection.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Deps } from "../../core/deps.ts";
import type { CookieChange, Visit } from "../core/route.ts";

/** Time to find a password and to wait for a second factor. */
const attemptLifeMs = 15 * 60_000;

/** A login that was begun here and is going on elsewhere. */
const Attempt = z.object({
  connectionId: z.uuid(),
  /** Names the request: the answer has to repeat it. */
  requestId: z.string(),
  returnTo: z.string(),
  /** The account to connect this identity to, when its user requested that. */
  linkTo: UserId.nullable(),
  /** What OpenID Connect has to compare and to check in the end. */
  nonce: z.string().optional(),
  codeVerifier: z.string().optional(),
  /** An assertion that no request caused leads to one request. */
  again: z.boolean().optional(),
  expiresAt: z.iso.datetime(),
});
export type Attempt = Readonly<z.output<typeof Attempt>>;

/**
 * The browser itself carries its login, sealed: nothing is kept here for logins that are never finished,
 * and an answer is valid only in the browser that began the login.
 */
export async function beginAttempt(
  attempt: Omit<Attempt, "expiresAt">,
  { vault, now }: Deps,
): Promise<CookieChange> {
  const expiresAt = new Date(now().getTime() + attemptLifeMs).toISOString();
  const text = JSON.stringify({ ...attempt, expiresAt });
  const value = await vault.seal(loginConnectionSubject(attempt.connectionId), text);
  return { name: "sso", value, seconds: attemptLifeMs / 1_000 };
}

export const endAttempt: CookieChange = { name: "sso" };

/** What this browser began with this connection; undefined when nothing, or too long ago. */
export async function attemptOf(
  visit: Visit,
  connectionId: string,
  { vault, now }: Deps,
): Promise<Attempt | undefined> {
  const sealed = Sealed.safeParse(visit.cookie("sso"));
  const subject = loginConnectionSubject(connectionId);
  // Sealed under another connection's key, it was begun with another connection.
  if (!sealed.success || partsOfSealed(sealed.data).subject !== subject) return undefined;
  const text = await vault.open(sealed.data).catch(() => null);
  if (text === null) return undefined;
  const attempt = Attempt.safeParse(JSON.parse(text));
  if (!attempt.success || attempt.data.connectionId !== connectionId) return undefined;
  return new Date(attempt.data.expiresAt) < now() ? undefined : attempt.data;
}

/** @throws Refusal 403 `sso.not_begun` */
export async function mustHaveBegun(
  visit: Visit,
  connectionId: string,
  deps: Deps,
): Promise<Attempt> {
  const attempt = await attemptOf(visit, connectionId, deps);
  if (attempt !== undefined) return attempt;
  throw notBegun();
}

export function notBegun(): Refusal {
  const message = "This login was not begun in this browser, or too long ago. Please begin again.";
  return new Refusal("forbidden", "sso.not_begun", message);
}
