import { randomUUID } from "node:crypto";

import type { EventMetadata } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { ParentType, Role } from "../../events/core/role.ts";
import { invitationSubject } from "../../events/user/invitation.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { invitation } from "./invitation.ts";
import { invalidLink } from "./link.ts";
import { hashLink, linkToken, readLink } from "./link-token.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { normaliseEmail } from "./user-name.ts";

/** Long enough for a recipient who is away for the week. */
const lifeMs = 7 * 24 * 60 * 60_000;

export type Invited = Readonly<{
  parentId: string;
  parentType: ParentType;
  role: Role;
  email: string;
  by: UserId;
}>;

/** Invites an address, whether or not it has an account: the inviter does not learn which. */
export async function invite(
  { store, vault, now }: RegisterUserDeps,
  { parentId, parentType, role, email, by }: Invited,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const emailDigest = vault.digest("email", normaliseEmail(email));
  const placeId = deterministicId("invitation", parentId, emailDigest);
  const invitationId = randomUUID();
  const at = now();
  const invited = {
    invitationId,
    parentId,
    parentType,
    role,
    email: await vault.seal(invitationSubject(invitationId), email.trim()),
    emailDigest,
    tokenHash: hashLink(linkToken(vault, "INVITATION", placeId, invitationId)),
    expiresAt: new Date(Date.parse(at) + lifeMs).toISOString(),
    invitedById: by,
  };
  const command = { type: "Invite", invitation: invited, at } as const;
  return await handle(store, invitation, { id: placeId, command, metadata });
}

/** @throws Refusal `link.invalid` */
export async function acceptInvitation(
  { store, now }: Pick<RegisterUserDeps, "store" | "now">,
  { token, userId }: Readonly<{ token: string; userId: UserId }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const link = readLink(token);
  if (link === undefined) throw invalidLink();
  const { holderId: id, tokenHash } = link;
  const command = { type: "AcceptByLink", tokenHash, userId, at: now() } as const;
  return await handle(store, invitation, { id, command, metadata });
}
