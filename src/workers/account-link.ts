import { currentState, handle } from "../commands/handle.ts";
import { hashLink, linkToken } from "../commands/process/link-token.ts";
import { reservation } from "../commands/reservation.ts";
import { user } from "../commands/user.ts";
import type { Recorded } from "../events/event.ts";
import type { MailKind } from "../events/mail.ts";
import { recoveryEvents } from "../events/recovery.ts";
import { emailStream } from "../events/reservation.ts";
import { idInStream } from "../events/stream.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import type { WorkerDeps } from "./deps.ts";
import { causedBy } from "./order.ts";
import type { Reactor } from "./reactor.ts";

const hourMs = 60 * 60_000;
/** Long enough to be found the next morning; a way into an account is open for as short as it can. */
export const confirmationLifeMs = 48 * hourMs;
export const resetLifeMs = hourMs;

/**
 * Makes out the links that prove an address: when somebody registers or changes to one that nobody
 * has proved, and when it is asked for. Links are named after what caused them, so reacting again
 * makes no other.
 */
export const accountLink: Reactor = {
  name: "account-link",
  types: new Set([
    "UserRegistered",
    "UserEmailChanged",
    "EmailConfirmationAsked",
    "PasswordResetAsked",
  ]),
  async react(event, deps) {
    const userId = await userOf(event, deps);
    if (userId === undefined) return [];
    const kind = event.type === "PasswordResetAsked" ? "PASSWORD_RESET" : "EMAIL_CONFIRMATION";
    await makeOut(kind, userId, event, deps);
    return [];
  },
};

async function userOf(event: Recorded, { store }: WorkerDeps): Promise<string | undefined> {
  const { type, stream, data } = event;
  if (type === "UserRegistered" || type === "UserEmailChanged") {
    return data["confirmed"] === true ? undefined : idInStream(stream);
  }
  const { emailDigest } = recoveryEvents.PasswordResetAsked.parse(data);
  const holder = await currentState(store, reservation, emailStream(emailDigest));
  if (holder.holderId === undefined) return undefined;
  // Reserved by somebody who never came to be, or has gone on to another address.
  const state = await currentState(store, user, holder.holderId);
  const holds = state.status !== "absent" && state.emailDigest === emailDigest;
  return holds ? holder.holderId : undefined;
}

async function makeOut(
  kind: MailKind,
  userId: string,
  event: Recorded,
  { store, vault, now }: WorkerDeps,
): Promise<void> {
  const requestId = deterministicId("link", kind, event.id);
  const lifeMs = kind === "PASSWORD_RESET" ? resetLifeMs : confirmationLifeMs;
  const link = {
    tokenHash: hashLink(linkToken(vault, kind, userId, requestId)),
    expiresAt: new Date(now().getTime() + lifeMs).toISOString(),
    at: now().toISOString(),
  };
  const command =
    kind === "PASSWORD_RESET"
      ? ({ type: "RequestPasswordReset", resetId: requestId, ...link } as const)
      : ({ type: "RequestEmailConfirmation", confirmationId: requestId, ...link } as const);
  const metadata = causedBy(event, requestId, now());
  await handle(store, user, { id: userId, command, metadata });
}
