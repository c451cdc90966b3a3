import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, SessionId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** How the person was authenticated. */
export const LoginVia = z.enum(["PASSWORD", "LDAP", "SAML", "OIDC"]);
export type LoginVia = z.output<typeof LoginVia>;

/** LOGOUT: by the person in it; REVOKED: by them from another; RENEWED: they logged in anew. */
export const SessionEnd = z.enum(["LOGOUT", "REVOKED", "RENEWED", "IDLE"]);
export type SessionEnd = z.output<typeof SessionEnd>;

/** A ban and a new password end all sessions of a user as well, by their own events. */
export const sessionEvents = {
  SessionOpened: z.object({
    sessionId: SessionId,
    userId: UserId,
    via: LoginVia,
    /** SHA-256 of the cookie's text, hex; the text itself is kept nowhere. */
    secretHash: z.string(),
    /** What the browser calls itself. */
    userAgent: Sealed.nullable(),
    openedAt: IsoInstant,
  }),
  SessionClosed: z.object({
    /** Null when the session expired. */
    closedById: UserId.nullable(),
    reason: SessionEnd,
    closedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export const sessionStream = (id: string): string => streamName("session", id);
