import type { EventMetadata } from "../../events/event.ts";
import { userSubject } from "../../events/user.ts";
import { hashPassword } from "../../platform/password.ts";
import { type CommandResult, currentState, handle } from "../handle.ts";
import { user } from "../user.ts";
import { invalidLink, mustMatch } from "../user-link.ts";
import { mustBeNewPassword } from "./change-user.ts";
import { readLink } from "./link-token.ts";
import type { RegisterUserDeps } from "./register-user.ts";

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
 * @param unlike how many of the last passwords may not come again
 * @throws Refusal `link.invalid`, `password.archived`
 */
export async function resetPassword(
  deps: RegisterUserDeps,
  { token, password, unlike }: Readonly<{ token: string; password: string; unlike: number }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { store, vault, now } = deps;
  const { holderId: id, tokenHash } = readLink(token) ?? invalid();
  // Hashing costs: whoever makes links up does not get us to do it.
  const state = await currentState(store, user, id);
  if (state.status !== "active") throw invalidLink();
  mustMatch(state.reset, { tokenHash, at: now() });
  await mustBeNewPassword(deps, id, password, unlike);
  const passwordHash = await vault.seal(userSubject(id), await hashPassword(password));
  const command = { type: "ResetPassword", tokenHash, passwordHash, at: now() } as const;
  return await handle(store, user, { id, command, metadata });
}

function invalid(): never {
  throw invalidLink();
}
