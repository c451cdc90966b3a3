import { randomUUID } from "node:crypto";

import { type CommandResult, handle } from "../../../commands/core/handle.ts";
import {
  type Identity,
  type Linked,
  linkedAccount,
  linkIdentity,
  registerIdentity,
} from "../../../commands/login/external-account.ts";
import { user } from "../../../commands/user/user.ts";
import type { EventMetadata } from "../../../events/core/event.ts";
import { LoginConnectionId, UserId } from "../../../events/core/ids.ts";
import type { Settings } from "../../../events/instance/settings.ts";
import type { ConnectionDetails } from "../../../events/login/connection.ts";
import { userSubject } from "../../../events/user/user.ts";
import { unreachable } from "../../../platform/invariant.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { clipText, storableText } from "../../../platform/storable-text.ts";
import { findLogin } from "../../../projections/access/caller.ts";
import type { LoginConnection } from "../../../projections/login/connection.ts";
import { untilVisible } from "../../../projections/progress/visible.ts";
import type { UserRow } from "../../../projections/user/user.ts";
import { mustBeAllowedEmail, newCountsAsConfirmed } from "../../access/email-rule.ts";
import { Email } from "../../api/user/user.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import type { Visit } from "../core/route.ts";

/** A person whom a directory or provider has authenticated, and the attributes that it gives. */
export type ExternalPerson = Readonly<{
  /** The issuer, and its name for the person: unique and permanent. */
  subject: readonly [issuer: string, name: string];
  email: string | null;
  /** Whether the other side says that the e-mail was proved. */
  emailVerified: boolean;
  /** What an alias may be made from. */
  aliasWish: string;
  name: string | null;
  surname: string | null;
}>;

export type AuthenticatedPerson = Readonly<{ connection: LoginConnection; person: ExternalPerson }>;

export function identityOf({ connection, person }: AuthenticatedPerson): Identity {
  const connectionId = LoginConnectionId.parse(connection.id);
  return { connectionId, subject: JSON.stringify(person.subject) };
}

/**
 * The account of a person who was authenticated elsewhere: the one the identity is linked to, else one
 * that may be linked by its e-mail, else a new one.
 *
 * @throws Refusal 403 with why there is none
 */
export async function accountOf(
  authenticated: AuthenticatedPerson,
  visit: Visit,
  deps: Deps,
): Promise<UserId> {
  const linked = await linkedAccount(commandDeps(deps), identityOf(authenticated));
  if (linked?.exists) return await visibleUser(linked, deps);
  const email = Email.safeParse(authenticated.person.email);
  const holder = email.success ? await findLogin(deps.db, email.data) : undefined;
  if (holder === undefined) return await register(authenticated, email.data, visit, deps);
  // It may be the account that this person, logging in twice at once, was given a moment ago.
  const meanwhile = await linkedAccount(commandDeps(deps), identityOf(authenticated));
  if (meanwhile?.exists) return await visibleUser(meanwhile, deps);
  mustBeLinkable(holder, authenticated);
  return await connect(authenticated, holder.id, "email", visit, deps);
}

/** The account may have been made a moment ago, by the same person who logs in twice at once. */
async function visibleUser({ userId, position }: Linked, deps: Deps): Promise<UserId> {
  await untilVisible(deps.visible, position);
  return userId;
}

/**
 * An account is linked by its e-mail only if that proves the person on both sides: the administrator
 * vouches for the e-mails of the other side, which states that this one was verified; and here its owner
 * has proved it: an e-mail that is confirmed by a setting proves nothing. Otherwise a person who registered
 * with the e-mail of another first would share their account, or get it. Administrators connect in person.
 */
function mustBeLinkable(holder: UserRow, authenticated: AuthenticatedPerson): void {
  const proves = authenticated.connection.details.trustEmail && authenticated.person.emailVerified;
  if (proves && holder.is_email_proved && !holder.is_admin && holder.banned_at === null) return;
  const { name } = authenticated.connection.details;
  const message =
    `There is an account with your e-mail already. Log in to it as you are used to, and connect ` +
    `${name} in the console.`;
  throw new Refusal("forbidden", "sso.email_taken", message);
}

/**
 * Gives the identity to an account.
 *
 * @throws Refusal 409 `external_identity.taken`
 */
export async function connect(
  authenticated: AuthenticatedPerson,
  userId: UserId,
  linkedBy: "email" | "person",
  visit: Visit,
  deps: Deps,
): Promise<UserId> {
  const link = { identity: identityOf(authenticated), userId, linkedBy };
  await visit.executeProcess(async () =>
    linkIdentity(commandDeps(deps), link, await metadataFor(userId, visit, deps)),
  );
  return userId;
}

async function register(
  authenticated: AuthenticatedPerson,
  email: string | undefined,
  visit: Visit,
  deps: Deps,
): Promise<UserId> {
  const { connection, person } = authenticated;
  const settings = await deps.settings();
  const { kind, name } = connection.details;
  if (!registers(connection.details, settings)) {
    const message = `There is no account for you here, and ${name} makes no new ones.`;
    throw new Refusal("forbidden", "sso.registration_disabled", message);
  }
  if (email === undefined) {
    const message = `${name} sent no e-mail address for you, and an account needs one.`;
    throw new Refusal("forbidden", "sso.email_missing", message);
  }
  mustBeAllowedEmail(email, settings);
  const emailProved = connection.details.trustEmail && person.emailVerified;
  const newUser = {
    userId: UserId.parse(randomUUID()),
    email,
    confirmed: emailProved || newCountsAsConfirmed(settings),
    emailProved,
    aliasWish: person.aliasWish,
  };
  const { userId } = await visit.executeProcess(async (metadata) => {
    const registered = await registerIdentity(
      commandDeps(deps),
      identityOf(authenticated),
      newUser,
      metadata,
    );
    const introduced = await introduce(registered.userId, person, visit, deps);
    return introduced === undefined ? registered : { ...registered, ...introduced };
  });
  deps.log.info({ userId, kind, connection: connection.id }, "account made by login");
  return userId;
}

function registers(details: ConnectionDetails, settings: Settings): boolean {
  switch (details.kind) {
    case "SAML":
      return !settings.disableSamlAuth;
    case "LDAP":
      return !settings.disableLdapAuth;
    case "OIDC":
      return details.registers;
    default:
      return unreachable(details);
  }
}

const nameLengthMax = 255;

/** What the other side calls the person becomes the profile of the new account. */
async function introduce(
  id: UserId,
  { name, surname }: ExternalPerson,
  visit: Visit,
  deps: Deps,
): Promise<CommandResult | undefined> {
  if (name === null && surname === null) return undefined;
  const seal = async (text: string | null) =>
    text === null
      ? null
      : await deps.vault.seal(userSubject(id), clipText(storableText(text.trim()), nameLengthMax));
  const command = {
    type: "ChangeUserProfile",
    name: await seal(name),
    surname: await seal(surname),
    by: id,
    at: deps.now().toISOString(),
  } as const;
  const metadata = await metadataFor(id, visit, deps);
  return await handle(deps.store, user, { id, command, metadata });
}

/** Each step is a command of its own: the request's id must not be the id of all of them. */
async function metadataFor(userId: UserId, visit: Visit, { vault }: Deps): Promise<EventMetadata> {
  return {
    ...(await visit.metadata()),
    actor: { userId, alias: null, via: "session", tokenId: null },
    ip: await vault.seal(userSubject(userId), visit.ip),
    commandId: randomUUID(),
  };
}
