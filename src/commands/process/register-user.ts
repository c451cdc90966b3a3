import type { EventMetadata } from "../../events/event.ts";
import type { Alias, UserId } from "../../events/ids.ts";
import { aliasStream, emailStream } from "../../events/reservation.ts";
import { userStream, userSubject } from "../../events/user.ts";
import type { EventStore } from "../../platform/event-store.ts";
import { hashPassword } from "../../platform/password.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Vault } from "../../platform/vault.ts";
import { type CommandResult, handle } from "../handle.ts";
import { user } from "../user.ts";
import { releaseName, reserveName } from "./reserve-name.ts";

export type RegisterUserDeps = Readonly<{ store: EventStore; vault: Vault; now: () => string }>;

export type NewUser = Readonly<{
  userId: UserId;
  alias: Alias;
  /** Plain text; goes into the log sealed. */
  email: string;
  password: string;
  admin: boolean;
  confirmed: boolean;
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
  const { store, vault, now } = deps;
  const { userId, alias, email, password, ...flags } = newUser;
  const subject = userSubject(userId);
  const emailDigest = vault.digest("email", normaliseEmail(email));
  const holderStreams = (id: string) => [userStream(id)];

  await reserveName(
    deps,
    { name: aliasStream(alias), holderId: userId, holderStreams, taken: aliasTaken },
    metadata,
  );
  try {
    await reserveName(
      deps,
      { name: emailStream(emailDigest), holderId: userId, holderStreams, taken: emailTaken },
      metadata,
    );
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
    passwordHash: await vault.seal(subject, await hashPassword(password)),
    ...flags,
    at: now(),
  } as const;
  return handle(store, user, { id: userId, command, metadata });
}

/** E-mail addresses are unique without regard to case. */
export const normaliseEmail = (email: string): string => email.trim().toLowerCase();

const aliasTaken = {
  field: "alias",
  code: "alias.taken",
  message: "This alias is already taken.",
} as const;

const emailTaken = {
  field: "email",
  code: "email.taken",
  message: "This e-mail is already in use.",
} as const;
