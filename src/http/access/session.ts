import { createHash, randomBytes, randomUUID } from "node:crypto";
import { session as sessionSlice } from "../../commands/access/session.ts";
import { handle } from "../../commands/core/handle.ts";
import { stepOf } from "../../commands/core/step.ts";
import type { LoginVia, SessionEnd } from "../../events/access/session.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { SessionId, type UserId } from "../../events/core/ids.ts";
import { userSubject } from "../../events/user/user.ts";
import { Refusal } from "../../platform/refusal.ts";
import { findOpenSession, type OpenSessionRow } from "../../projections/access/session.ts";
import { findUserById, type UserRow } from "../../projections/user/user.ts";
import type { Deps } from "../core/deps.ts";
import type { PageAnswer, Visit } from "../page/core/route.ts";
import { mustHaveProvedEmail } from "./email-rule.ts";
import { markOf, ticketSeconds, writeTicket } from "./login-ticket.ts";
import { returnPath } from "./return-to.ts";
import { sessionUse } from "./session-use.ts";

const secretBytes = 32;
const userAgentMax = 300;
export const home = "/console";
/** The page that requests the second factor. */
export const codePath = "/login/code";

type FindSession = (cookie: string) => Promise<OpenSessionRow | undefined>;

export type Sessions = Readonly<{
  /** The session of a request, which uses it. */
  use: FindSession;
  /** The same, for a request under way: one that lasts does not keep its session from idling. */
  find: FindSession;
}>;

/** Queries the database each time: what ends a session ends it at once, in every process. */
export function openSessions(deps: Pick<Deps, "db" | "settings" | "now">): Sessions {
  const note = sessionUse(deps.db);
  const find: FindSession = async (cookie) => {
    const row = await findOpenSession(deps.db, hashOf(cookie));
    return row === undefined || row.seen_at < (await idleSince(deps)) ? undefined : row;
  };
  return {
    find,
    async use(cookie) {
      const row = await find(cookie);
      if (row !== undefined) await note(row.id, deps.now());
      return row;
    },
  };
}

/** Sessions that were last seen before this are over. */
export async function idleSince({ settings, now }: Pick<Deps, "settings" | "now">): Promise<Date> {
  const { sessionMaxInactiveIntervalMinutes: minutes } = await settings();
  return new Date(now().getTime() - minutes * 60_000);
}

export type SignIn = Readonly<{
  userId: UserId;
  via: LoginVia;
  /** Where the person wanted to go; anything but a path of ours is not gone to. */
  returnTo: unknown;
  /**
   * Whether the authentication still holds, checked once the session is in the log: a password that was changed
   * meanwhile opens nothing.
   */
  stillTrue?: (user: UserRow) => boolean;
}>;

/**
 * Logs in a user who is authenticated, by whatever method, or requests their second factor
 * first.
 *
 * @throws Refusal 403 `auth.refused` for blocked and forgotten people, `auth.unconfirmed`
 */
export async function signIn(visit: Visit, signedIn: SignIn, deps: Deps): Promise<PageAnswer> {
  const user = await mayComeIn(signedIn.userId, deps);
  if (!(await deps.secondFactor.isRequired(user.id)))
    return await openSession(visit, signedIn, deps);
  if (signedIn.stillTrue?.(user) === false) throw refused();
  const ticket = {
    userId: user.id,
    via: signedIn.via,
    returnTo: returnPath(signedIn.returnTo, home),
    until: deps.now().getTime() + ticketSeconds * 1_000,
    passwordMark: markOf(deps.vault, user),
  };
  const value = writeTicket(deps.vault, ticket);
  return { redirect: codePath, cookies: [{ name: "login", value, seconds: ticketSeconds }] };
}

async function mayComeIn(userId: UserId, { db, settings }: Deps): Promise<UserRow> {
  const user = await findUserById(db, userId);
  if (user === undefined || user.banned_at !== null || user.forgotten_at !== null) throw refused();
  mustHaveProvedEmail(user, await settings());
  return user;
}

function refused(): Refusal {
  return new Refusal("forbidden", "auth.refused", "This account cannot log in.");
}

/**
 * Opens a session for a user who has given all factors; others come by signIn. It is always a new
 * one, so that a cookie which an attacker planted before is worthless.
 */
export async function openSession(visit: Visit, signedIn: SignIn, deps: Deps): Promise<PageAnswer> {
  const { userId, via, stillTrue = () => true } = signedIn;
  const secret = randomBytes(secretBytes).toString("base64url");
  const sessionId = SessionId.parse(randomUUID());
  const agent = visit.header("user-agent").slice(0, userAgentMax);
  const subject = userSubject(userId);
  const command = {
    type: "OpenSession",
    sessionId,
    userId,
    via,
    secretHash: hashOf(secret),
    userAgent: agent === "" ? null : await deps.vault.seal(subject, agent),
    at: deps.now().toISOString(),
  } as const;
  const user = await mayComeIn(userId, deps);
  const metadata = await metadataOf(visit, user, via, deps);
  const opened = await handle(deps.store, sessionSlice, { id: sessionId, command, metadata });
  await visit.visible(opened.position);

  // All that happened before the session is visible now; what happens after it ends it by itself.
  const now = await findUserById(deps.db, userId);
  if (now === undefined || now.banned_at !== null || !stillTrue(now)) {
    const undoing = stepOf(metadata, "undo");
    await closeSession({ sessionId, by: userId, reason: "REVOKED", metadata: undoing }, deps);
    throw refused();
  }
  if (visit.session !== undefined) {
    await endSession(visit.session, "RENEWED", visit, deps);
  }
  return {
    redirect: returnPath(signedIn.returnTo, home),
    cookies: [{ name: "session", value: secret }, { name: "visitor" }],
  };
}

/** The request came from nobody yet; what it does is done by who logs in. */
async function metadataOf(
  visit: Visit,
  user: UserRow,
  via: LoginVia,
  { vault }: Deps,
): Promise<EventMetadata> {
  const how = via === "PASSWORD" ? "password" : "session";
  return {
    ...(await visit.metadata()),
    actor: { userId: user.id, alias: user.alias, via: how, tokenId: null },
    ip: await vault.seal(userSubject(user.id), visit.ip),
  };
}

type Closing = Readonly<{
  sessionId: SessionId;
  by: UserId;
  reason: SessionEnd;
  metadata: EventMetadata;
}>;

/** @throws Refusal 404 `session.not_found`, also when it belongs to another user */
export async function closeSession(
  { sessionId, by, reason, metadata }: Closing,
  { store, visible, now }: Deps,
): Promise<void> {
  const command = { type: "CloseSession", by, reason, at: now().toISOString() } as const;
  await visible((await handle(store, sessionSlice, { id: sessionId, command, metadata })).position);
}

export async function endSession(
  { id, user_id }: OpenSessionRow,
  reason: SessionEnd,
  visit: Visit,
  deps: Deps,
): Promise<void> {
  const metadata = await visit.metadata();
  await closeSession({ sessionId: id, by: user_id, reason, metadata }, deps);
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
