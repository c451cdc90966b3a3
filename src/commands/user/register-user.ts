import type { EventMetadata } from "../../events/core/event.ts";
import type { Alias, UserId } from "../../events/core/ids.ts";
import { aliasStream } from "../../events/core/reservation.ts";
import { userSubject } from "../../events/user/user.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { hashPassword } from "../../platform/identity/password.ts";
import type { Vault } from "../../platform/key/vault.ts";
import { Refusal } from "../../platform/refusal.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { releaseName, reserveName } from "../core/reserve-name.ts";
import { user } from "./user.ts";
import { normaliseEmail, userAliasToReserve, userEmailToReserve } from "./user-name.ts";

export type HashPassword = (password: string) => Promise<string>;

export type RegisterUserDeps = Readonly<{
  store: EventStore;
  vault: Vault;
  now: () => string;
  /** Hashes new passwords; `hashPassword` by default. Tests with many of them pass a cheaper one. */
  hash?: HashPassword | undefined;
}>;

export type NewUser = Readonly<{
  userId: UserId;
  alias: Alias;
  /** Plain text; goes into the log sealed. */
  email: string;
  /** Null for people who log in elsewhere. */
  password: string | null;
  admin: boolean;
  confirmed: boolean;
  /** The person has shown that the address is theirs; not so when not given. */
  emailProved?: boolean;
}>;

/**
 * Reserves the alias and the e-mail, then registers. Each step may be repeated with the same
 * `userId` and command id, so a request that died half-way is finished by its repetition; names
 * left behind by one that never comes back become free after a minute.
 *
 * @throws Refusal `unprocessable` with `alias.taken` or `email.taken`.
 */
export async function registerUser(
  deps: RegisterUserDeps,
  newUser: NewUser,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { store, vault, now, hash = hashPassword } = deps;
  const { userId, alias, email, password, ...flags } = newUser;
  const subject = userSubject(userId);
  const emailDigest = vault.digest("email", normaliseEmail(email));

  await reserveName(deps, userAliasToReserve(store, userId, alias), metadata);
  try {
    await reserveName(deps, userEmailToReserve(deps, userId, emailDigest), metadata);
  } catch (error) {
    if (error instanceof Refusal) await releaseName(deps, aliasStream(alias), userId, metadata);
    throw error;
  }
  const command = {
    type: "RegisterUser",
    userId,
    alias,
    email: await vault.seal(subject, email.trim()),
    emailDigest,
    passwordHash: password === null ? null : await vault.seal(subject, await hash(password)),
    ...flags,
    at: now(),
  } as const;
  return handle(store, user, { id: userId, command, metadata });
}
