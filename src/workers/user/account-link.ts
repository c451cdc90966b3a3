import { currentState, handle } from "../../commands/core/handle.ts";
import { reservation } from "../../commands/core/reservation.ts";
import { openFormers } from "../../commands/user/former-email.ts";
import { hashLink, linkToken } from "../../commands/user/link-token.ts";
import { user } from "../../commands/user/user.ts";
import type { Recorded } from "../../events/core/event.ts";
import { emailStream } from "../../events/core/reservation.ts";
import { idInStream } from "../../events/core/stream.ts";
import { recoveryEvents } from "../../events/user/recovery.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";

const hourMs = 60 * 60_000;
/** Long enough to be found the next morning; a way into an account is open for as short as it can. */
const confirmationLifeMs = 48 * hourMs;
const resetLifeMs = hourMs;

/**
 * Creates the links that prove an address: when a user registers or changes to an unconfirmed
 * address, and on request. The id of a link is derived from its cause, so reacting again creates
 * no second one.
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
    const command =
      event.type === "PasswordResetAsked"
        ? await resetCommand(userId, event, deps)
        : confirmationCommand(userId, event, deps);
    const requestId = "resetId" in command ? command.resetId : command.confirmationId;
    const metadata = causedBy(event, requestId, deps.now());
    await handle(deps.store, user, { id: userId, command, metadata });
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
  // Reserved by a registration that was never completed, or by a user who has since changed the address.
  const state = await currentState(store, user, holder.holderId);
  const holds = state.status !== "absent" && state.emailDigest === emailDigest;
  return holds ? holder.holderId : undefined;
}

function confirmationCommand(userId: string, event: Recorded, { vault, now }: WorkerDeps) {
  const confirmationId = deterministicId("link", "EMAIL_CONFIRMATION", event.id);
  return {
    type: "RequestEmailConfirmation",
    confirmationId,
    tokenHash: hashLink(linkToken(vault, "EMAIL_CONFIRMATION", userId, confirmationId)),
    ...lasting(confirmationLifeMs, now()),
  } as const;
}

/** With another link for each former address that can still be taken back. */
async function resetCommand(userId: string, event: Recorded, { store, vault, now }: WorkerDeps) {
  const times = lasting(resetLifeMs, now());
  const state = await currentState(store, user, userId);
  const formers = state.status === "absent" ? [] : openFormers(state, times.at);
  const kind = formers.length > 0 ? "PASSWORD_RESET_PART" : "PASSWORD_RESET";
  const hashOf = (id: string) => hashLink(linkToken(vault, kind, userId, id));
  const resetId = deterministicId("link", "PASSWORD_RESET", event.id);
  const parts = formers.map(({ emailDigest }) => {
    const partId = deterministicId("link", kind, event.id, emailDigest);
    return { emailDigest, resetId: partId, tokenHash: hashOf(partId) };
  });
  return {
    type: "RequestPasswordReset",
    resetId,
    tokenHash: hashOf(resetId),
    parts,
    ...times,
  } as const;
}

const lasting = (lifeMs: number, now: Date) => ({
  expiresAt: new Date(now.getTime() + lifeMs).toISOString(),
  at: now.toISOString(),
});
