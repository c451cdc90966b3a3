import type { EventMetadata } from "../../events/core/event.ts";
import { Alias, type LoginConnectionId, type UserId } from "../../events/core/ids.ts";
import { externalIdentityId, type LinkedBy } from "../../events/login/external-identity.ts";
import { userSubject } from "../../events/user/user.ts";
import { Refusal } from "../../platform/refusal.ts";
import { trimmedOf } from "../../platform/trim.ts";
import { type CommandResult, currentState, handle, loadState } from "../core/handle.ts";
import { mustNotBeReserved } from "../core/reserved-alias.ts";
import { type NewUser, type RegisterUserDeps, registerUser } from "../user/register-user.ts";
import { user } from "../user/user.ts";
import { externalIdentity } from "./external-identity.ts";

/** A person as identified by a directory or provider. */
export type Identity = Readonly<{
  connectionId: LoginConnectionId;
  /** The issuer and its permanent id of the person: the same id of another issuer is another person. */
  subject: string;
}>;

export type Linked = Readonly<{
  userId: UserId;
  /** The account may have been announced by a registration that died, or be gone since. */
  exists: boolean;
  /** The log position that shows the account. */
  position: bigint | undefined;
}>;

/** The account this identity belongs to. */
export async function linkedAccount(
  deps: RegisterUserDeps,
  identity: Identity,
): Promise<Linked | undefined> {
  const { userId } = await currentState(deps.store, externalIdentity, idOf(deps, identity));
  if (userId === undefined) return undefined;
  const { state, position } = await loadState(deps.store, user, userId);
  const { status } = state;
  return { userId, exists: status !== "absent" && status !== "forgotten", position };
}

/**
 * Gives the identity to an account, for ever. May be repeated.
 *
 * @throws Refusal `external_identity.taken`
 */
export async function linkIdentity(
  deps: RegisterUserDeps,
  link: Omit<Link, "goneUserId">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const before = await linkedAccount(deps, link.identity);
  const goneUserId = before?.exists === false ? before.userId : undefined;
  return await append(deps, { ...link, goneUserId }, metadata);
}

type Link = Readonly<{
  identity: Identity;
  userId: UserId;
  linkedBy: LinkedBy;
  /** Who had it and is gone. */
  goneUserId: UserId | undefined;
}>;

async function append(
  deps: RegisterUserDeps,
  { identity, userId, linkedBy, goneUserId }: Link,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const command = {
    type: "LinkExternalIdentity",
    connectionId: identity.connectionId,
    subjectDigest: digestOf(deps, identity),
    subject: await deps.vault.seal(userSubject(userId), identity.subject),
    userId,
    linkedBy,
    goneUserId,
    at: deps.now(),
  } as const;
  return handle(deps.store, externalIdentity, { id: idOf(deps, identity), command, metadata });
}

const aliasesMax = 50;

export type NewPerson = Omit<NewUser, "alias" | "password" | "admin"> &
  Readonly<{
    /** What the other side calls the person; the alias is made from it. */
    aliasWish: string;
  }>;

/**
 * Links first and registers then, so that the next login completes a registration that died in between:
 * the identity already names its account, and the account is created under that id.
 *
 * @throws Refusal `email.taken`, `external_identity.taken`
 */
export async function registerIdentity(
  deps: RegisterUserDeps,
  identity: Identity,
  { aliasWish, ...person }: NewPerson,
  metadata: EventMetadata,
): Promise<Readonly<{ userId: UserId }> & CommandResult> {
  const announced = await announce(deps, identity, person.userId, metadata);
  const { userId } = announced;
  if (announced.exists) return announced;
  for (const alias of aliasesFor(aliasWish)) {
    try {
      const newUser = { ...person, userId, alias, password: null, admin: false };
      return { userId, ...(await registerUser(deps, newUser, metadata)) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // The same person, logging in twice at once.
      if (error.code === "user.exists") {
        return { userId, position: (await loadState(deps.store, user, userId)).position };
      }
      if (error.code !== "alias.taken") throw error;
    }
  }
  throw new Refusal("conflict", "alias.taken", "No alias could be found for this person.");
}

/** The account that this identity has or will have: the first one named for it. */
async function announce(
  deps: RegisterUserDeps,
  identity: Identity,
  wished: UserId,
  metadata: EventMetadata,
): Promise<Linked> {
  const before = await linkedAccount(deps, identity);
  if (before?.exists) return before;
  const forgotten = before !== undefined && (await wasForgotten(deps, before.userId));
  const userId = before === undefined || forgotten ? wished : before.userId;
  // An account that does not exist may be coming into being at this moment: only a forgotten one is gone.
  const goneUserId = forgotten ? before.userId : undefined;
  try {
    await append(deps, { identity, userId, linkedBy: "registration", goneUserId }, metadata);
    return { userId, exists: false, position: undefined };
  } catch (error) {
    const now = await linkedAccount(deps, identity);
    if (!(error instanceof Refusal) || now === undefined) throw error;
    return now;
  }
}

async function wasForgotten({ store }: RegisterUserDeps, userId: UserId): Promise<boolean> {
  return (await currentState(store, user, userId)).status === "forgotten";
}

/** `anna`, `anna-2`, `anna-3`, …, as far as they may be aliases. */
function* aliasesFor(wish: string): Generator<Alias> {
  const written = wish
    .normalize("NFKD")
    .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
    .replaceAll(/\.{2,}/g, ".");
  const plain = trimmedOf(written, "._-").slice(0, 56);
  const base = plain === "" ? "user" : plain;
  for (let n = 1; n <= aliasesMax; n += 1) {
    const alias = Alias.safeParse(n === 1 ? base : `${base}-${n}`);
    if (alias.success && !isReserved(alias.data)) yield alias.data;
  }
}

function isReserved(alias: Alias): boolean {
  try {
    mustNotBeReserved(alias);
    return false;
  } catch {
    return true;
  }
}

function digestOf({ vault }: Pick<RegisterUserDeps, "vault">, { subject }: Identity): string {
  return vault.digest("external identity", subject);
}

const idOf = (deps: RegisterUserDeps, identity: Identity): string =>
  externalIdentityId(identity.connectionId, digestOf(deps, identity));
