import type { EventMetadata } from "../../events/core/event.ts";
import { emailStream } from "../../events/core/reservation.ts";
import { userSubject } from "../../events/user/user.ts";
import { Refusal } from "../../platform/refusal.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { releaseName } from "../core/reserve-name.ts";
import { gpgKeys } from "./change-gpg-key.ts";
import { sshKeys } from "./change-ssh-key.ts";
import { releaseKeys } from "./key-fingerprint.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { user } from "./user.ts";

/**
 * Forgets a person: the event makes every read model drop the personal fields, and the deleted key
 * makes them unreadable in the log, in exports and in backups of the log. The alias stays taken, so
 * that nobody can pose as them; the e-mail becomes free. Every step may be repeated.
 *
 * @throws Refusal `user.not_found`.
 */
export async function forgetUser(
  deps: RegisterUserDeps,
  userId: string,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { store, vault, now } = deps;
  const emailDigest = await emailDigestOf(deps, userId);
  const command = { type: "ForgetUser", at: now() } as const;
  const result = await handle(store, user, { id: userId, command, metadata });
  await vault.forget(userSubject(userId));
  await releaseKeys(deps, sshKeys, userId, metadata);
  await releaseKeys(deps, gpgKeys, userId, metadata);
  await releaseName(deps, emailStream(emailDigest), userId, metadata);
  return result;
}

async function emailDigestOf({ store }: RegisterUserDeps, userId: string): Promise<string> {
  const state = await currentState(store, user, userId);
  if (state.status !== "absent") return state.emailDigest;
  throw new Refusal("not_found", "user.not_found", "User not found.");
}
