import type { EventMetadata } from "../../events/core/event.ts";
import { userSubject } from "../../events/user/user.ts";
import { hashPassword } from "../../platform/identity/password.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { reserveName } from "../core/reserve-name.ts";
import { mustBeNewPassword, releaseEmails } from "./change-user.ts";
import { invalidLink, mustBeFormer, mustMatchReset } from "./link.ts";
import { readLink } from "./link-token.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { user } from "./user.ts";
import { userEmailToReserve } from "./user-name.ts";

/** @throws Refusal `link.invalid` */
export async function confirmEmail(
  { store, now }: RegisterUserDeps,
  token: string,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const link = readLink(token) ?? invalid();
  const command = { type: "ConfirmEmail", tokenHash: link.tokenHash, at: now() } as const;
  return await handle(store, user, { id: link.holderId, command, metadata });
}

/**
 * Makes a former address the account's again, by the link that was sent to it.
 *
 * @throws Refusal `link.invalid`, `email.taken`
 */
export async function takeBackEmail(
  deps: RegisterUserDeps,
  token: string,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { store, now } = deps;
  const { holderId: id, tokenHash } = readLink(token) ?? invalid();
  const before = await currentState(store, user, id);
  const presented = { tokenHash, at: now() };
  const { emailDigest } = mustBeFormer(before, presented);
  // Held for as long as the link works: this refuses only in the moment in which the window ends.
  await reserveName(deps, userEmailToReserve(deps, id, emailDigest), metadata);
  const command = { type: "TakeBackEmail", ...presented } as const;
  const result = await handle(store, user, { id, command, metadata });
  if (before.status !== "absent") await releaseEmails(deps, before, metadata);
  return result;
}

export type NewPassword = Readonly<{ tokens: readonly string[]; password: string; unlike: number }>;

/**
 * @param tokens of all links that are needed: one, and one for each open former address
 * @param unlike how many of the last passwords may not come again
 * @throws Refusal `link.invalid`, `link.more_needed`, `password.archived`
 */
export async function resetPassword(
  deps: RegisterUserDeps,
  { tokens, password, unlike }: NewPassword,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { store, vault, now, hash = hashPassword } = deps;
  const links = tokens.map((token) => readLink(token) ?? invalid());
  const id = links[0]?.holderId;
  if (id === undefined || links.some(({ holderId }) => holderId !== id)) throw invalidLink();
  const tokenHashes = links.map(({ tokenHash }) => tokenHash);
  // Checked before the password is hashed: a made-up link must not cause that expense.
  const state = await currentState(store, user, id);
  if (state.status !== "active") throw invalidLink();
  mustMatchReset(state.reset, { tokenHashes, at: now() });
  await mustBeNewPassword(deps, id, password, unlike);
  const passwordHash = await vault.seal(userSubject(id), await hash(password));
  const command = { type: "ResetPassword", tokenHashes, passwordHash, at: now() } as const;
  return await handle(store, user, { id, command, metadata });
}

function invalid(): never {
  throw invalidLink();
}
