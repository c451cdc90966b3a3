import { randomUUID } from "node:crypto";

import { decode } from "../../events/core/decode.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { type Alias, normaliseAlias, type UserId } from "../../events/core/ids.ts";
import { userEvents, userStream, userSubject } from "../../events/user/user.ts";
import { hashPassword, verifyPassword } from "../../platform/identity/password.ts";
import { Refusal } from "../../platform/refusal.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { type NameToReserve, releaseName, reserveName } from "../core/reserve-name.ts";
import type { TakeBackLink } from "./former-email.ts";
import { hashLink, linkToken } from "./link-token.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { type UserCommand, user } from "./user.ts";
import { normaliseEmail, userAliasToReserve, userEmailToReserve } from "./user-name.ts";
import type { ExistingUser } from "./user-state.ts";

/** Whose account is changed, and by whom: themselves or an administrator. */
export type UserChange = Readonly<{ userId: UserId; by: UserId; metadata: EventMetadata }>;

/**
 * Takes the new alias first, so that it is never nobody's, then changes, then frees the old one.
 * Every step may be repeated; a name left over by a change that died becomes free after a minute.
 *
 * @throws Refusal `unprocessable` with `alias.taken`; `user.not_found`
 */
export async function changeUserAlias(
  deps: RegisterUserDeps,
  { userId, by, metadata }: UserChange,
  alias: Alias,
): Promise<CommandResult> {
  const before = await existing(deps, userId);
  const toReserve = (wanted: Alias) => userAliasToReserve(deps.store, userId, wanted, "username");
  await reserveName(deps, toReserve(alias), metadata);
  const command = { type: "ChangeUserAlias", alias, by, at: deps.now() } as const;
  const result = await write(deps, userId, command, metadata);
  if (normaliseAlias(before.alias) !== normaliseAlias(alias)) {
    await releaseUnused(deps, toReserve(before.alias), metadata);
  }
  return result;
}

const dayMs = 24 * 60 * 60_000;
/** So long a former address can be taken back. */
const takeBackLifeMs = 7 * dayMs;

/**
 * The same with an e-mail. One that the person replaces themselves stays reserved for 7 days, and gets
 * a link that takes it back.
 *
 * @throws Refusal `unprocessable` with `email.taken`, `email.changed_too_often`; `user.not_found`
 */
export async function changeUserEmail(
  deps: RegisterUserDeps,
  { userId, by, metadata }: UserChange,
  { email, confirmed }: Readonly<{ email: string; confirmed: boolean }>,
): Promise<CommandResult> {
  const { vault, now } = deps;
  const before = await existing(deps, userId);
  const emailDigest = vault.digest("email", normaliseEmail(email));
  await reserveName(deps, userEmailToReserve(deps, userId, emailDigest), metadata);
  const sealed = await vault.seal(userSubject(userId), email.trim());
  const command = {
    type: "ChangeUserEmail",
    email: sealed,
    emailDigest,
    confirmed,
    takeBack: takeBackLink(deps, userId),
    by,
    at: now(),
  } as const;
  const result = await write(deps, userId, command, metadata);
  await releaseEmails(deps, before, metadata);
  return result;
}

function takeBackLink({ vault, now }: RegisterUserDeps, userId: UserId): TakeBackLink {
  const takeBackId = randomUUID();
  return {
    takeBackId,
    tokenHash: hashLink(linkToken(vault, "EMAIL_TAKE_BACK", userId, takeBackId)),
    expiresAt: new Date(Date.parse(now()) + takeBackLifeMs).toISOString(),
  };
}

/** Frees the addresses of an earlier state that the account has given up since. */
export async function releaseEmails(
  deps: RegisterUserDeps,
  { userId, emailDigest, formers }: ExistingUser,
  metadata: EventMetadata,
): Promise<void> {
  for (const digest of [emailDigest, ...formers.map((former) => former.emailDigest)]) {
    await releaseUnused(deps, userEmailToReserve(deps, userId, digest), metadata);
  }
}

/**
 * @param unlike how many of the last passwords, the current one among them, may not come again
 * @throws Refusal `unprocessable` with `password.archived`; `user.not_found`
 */
export async function changeUserPassword(
  deps: RegisterUserDeps,
  { userId, by, metadata }: UserChange,
  { password, unlike }: Readonly<{ password: string; unlike: number }>,
): Promise<CommandResult> {
  await existing(deps, userId);
  await mustBeNewPassword(deps, userId, password, unlike);
  const hash = await (deps.hash ?? hashPassword)(password);
  const passwordHash = await deps.vault.seal(userSubject(userId), hash);
  const command = { type: "ChangeUserPassword", passwordHash, by, at: deps.now() } as const;
  return write(deps, userId, command, metadata);
}

/** @throws Refusal `password.archived` */
export async function mustBeNewPassword(
  { store, vault }: RegisterUserDeps,
  userId: string,
  password: string,
  unlike: number,
): Promise<void> {
  if (unlike === 0) return;
  const hashes = [];
  for await (const recorded of store.readStream(userStream(userId))) {
    const event = decode(userEvents, recorded);
    if (event.type !== "UserRegistered" && event.type !== "UserPasswordChanged") continue;
    if (event.data.passwordHash !== null) hashes.push(event.data.passwordHash);
  }
  for (const sealed of hashes.slice(-unlike)) {
    const hash = await vault.open(sealed);
    if (hash === null || !(await verifyPassword(password, hash))) continue;
    const message = "This password was used before.";
    throw new Refusal("unprocessable", "password.archived", message, {
      errors: [{ field: "password", code: "password.archived", message }],
    });
  }
}

async function existing({ store }: RegisterUserDeps, userId: UserId): Promise<ExistingUser> {
  const state = await currentState(store, user, userId);
  if (state.status !== "absent" && state.status !== "forgotten") return state;
  throw new Refusal("not_found", "user.not_found", "User not found.");
}

function write(
  { store }: RegisterUserDeps,
  id: UserId,
  command: UserCommand,
  metadata: EventMetadata,
): Promise<CommandResult> {
  return handle(store, user, { id, command, metadata });
}

/** Two changes at once may cross: a name the user has gone back to is taken again. */
async function releaseUnused(
  deps: RegisterUserDeps,
  toReserve: NameToReserve,
  metadata: EventMetadata,
): Promise<void> {
  const { name, holderId, stillHolds } = toReserve;
  if (await stillHolds?.(holderId)) return;
  await releaseName(deps, name, holderId, metadata);
  if (await stillHolds?.(holderId)) await reserveName(deps, toReserve, metadata);
}
