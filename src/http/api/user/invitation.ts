import { z } from "zod";

import { currentState } from "../../../commands/core/handle.ts";
import { invitation } from "../../../commands/user/invitation.ts";
import { acceptInvitation, invite } from "../../../commands/user/invite.ts";
import { invalidLink, mustMatch } from "../../../commands/user/link.ts";
import { readLink } from "../../../commands/user/link-token.ts";
import { normaliseEmail } from "../../../commands/user/user-name.ts";
import { decode } from "../../../events/core/decode.ts";
import type { UserId } from "../../../events/core/ids.ts";
import { Role } from "../../../events/core/role.ts";
import { Sealed } from "../../../events/core/sealed.ts";
import { invitationEvents, invitationStream } from "../../../events/user/invitation.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { administers } from "../../../projections/team/administers.ts";
import { findInvitation, listInvitations } from "../../../projections/user/invitation.ts";
import { findUsersById } from "../../../projections/user/user.ts";
import { joinByInvitation } from "../../../services/user/join-by-invitation.ts";
import type { Resolved } from "../../access/gate.ts";
import { type OwnerScope, ownerScopes, parentOf, writingAt } from "../../access/owner-scope.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

/** An hour, for one person: mails go to people who did not request them. */
const invitesMax = 60;
const windowSeconds = 3_600;

const InvitationView = z
  .object({
    id: z.uuid(),
    email: z.string().nullable(),
    role: Role,
    invitedBy: z.string().nullable().meta({ description: "Alias." }),
    createdAt: instant(),
    expiresAt: instant(),
  })
  .meta({ id: "Invitation" });

function list(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "get",
    path: `${ownerScope.base}/member/invitation`,
    operationId: `list${ownerScope.noun}Invitations`,
    summary: `List who was invited to a ${ownerScope.resource} by e-mail and has not come yet`,
    list: "invitationList",
    reply: InvitationView,
    async handle({ page, request }, { db, vault }) {
      const { id } = parentOf(request);
      const { rows, total } = await listInvitations(db, id, page);
      const inviters = await findUsersById(
        db,
        rows.map((row) => row.invited_by_id),
      );
      const items = rows.map(async (row) =>
        toView(InvitationView, row, {
          email: await vault.open(Sealed.parse(row.email)),
          invitedBy: inviters.get(row.invited_by_id)?.alias ?? null,
        }),
      );
      return { items: await Promise.all(items), totalElements: total };
    },
  });
}

function revoke(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "delete",
    path: `${ownerScope.base}/member/invitation/{invitationUuid}`,
    operationId: `revoke${ownerScope.noun}Invitation`,
    summary: `Take an invitation to a ${ownerScope.resource} back`,
    reply: "empty",
    async handle({ params, request }, { db, now }) {
      const { id: parentId } = parentOf(request);
      const row = await findInvitation(db, parentId, params.invitationUuid);
      if (row === undefined) {
        const message = "There is no such open invitation.";
        throw new Refusal("not_found", "invitation.not_found", message);
      }
      const command = {
        type: "RevokeInvitation",
        invitationId: row.id,
        ...stampOf(request, { now }),
      } as const;
      await request.execute(invitation, row.place_id, command);
    },
  });
}

/** @throws Refusal 429 `invitation.limit_exceeded` */
export async function inviteByEmail(
  { email, role }: Readonly<{ email: string; role: Role }>,
  request: RequestContext & Resolved & Readonly<{ userId: UserId }>,
  deps: Deps,
): Promise<void> {
  const { count, resetMs } = await deps.counters.add(`invite:${request.userId}`, windowSeconds);
  if (count > invitesMax) {
    const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1_000));
    const message = `More than ${invitesMax} invitations in an hour.`;
    throw new Refusal("too_many", "invitation.limit_exceeded", message, { retryAfterSeconds });
  }
  const { id: parentId, type: parentType } = parentOf(request);
  const invited = { parentId, parentType, role, email, by: request.userId };
  await request.executeProcess((metadata) => invite(commandDeps(deps), invited, metadata));
}

const postInvitationAccept = route({
  method: "post",
  path: "/user/invitation/accept",
  operationId: "acceptInvitation",
  summary: "Become a member by the link of an invitation",
  description: "The holder of the link has read the mail; the account may have another e-mail.",
  tag: "Users",
  scope: "USER_WRITE",
  access: "user",
  body: z.object({ token: z.string().max(200) }).meta({ id: "InvitationToken" }),
  reply: "empty",
  handle: ({ body, request }, deps) => accept(body.token, request.userId, request, deps),
});

/** @throws Refusal 422 `link.invalid` */
export async function accept(
  token: string,
  userId: UserId,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const { store } = deps;
  await mustStand(await openInvitation(token, deps), deps);
  await request.executeProcess(async (metadata) => {
    const accepted = await acceptInvitation(commandDeps(deps), { token, userId }, metadata);
    const stream = invitationStream(readLink(token)?.holderId ?? "");
    for await (const recorded of store.readStreamBackwards(stream, 1)) {
      const event = decode(invitationEvents, recorded);
      if (event.type !== "InvitationAccepted") continue;
      return { position: (await joinByInvitation(deps, event, event.data)) ?? event.position };
    }
    return accepted;
  });
}

/** Of a registration. */
const field = "invitation";

/**
 * Whether the invitation went to this address: who has its link has read a mail there.
 *
 * @throws Refusal 422 `link.invalid` when it is not open, or has lapsed
 */
export async function invitedAt(token: string, email: string, deps: Deps): Promise<boolean> {
  const open = await openInvitation(token, deps);
  await mustStand(open, deps);
  return open.emailDigest === deps.vault.digest("email", normaliseEmail(email));
}

/** @throws Refusal 422 `link.invalid` */
async function openInvitation(token: string, { store, now }: Deps) {
  const link = readLink(token);
  if (link === undefined) throw invalidLink(field);
  const { open } = await currentState(store, invitation, link.holderId);
  mustMatch(open, { tokenHash: link.tokenHash, at: now().toISOString() }, field);
  if (open === undefined) throw invalidLink(field);
  return open;
}

/**
 * An invitation lapses with the rights of its inviter.
 *
 * @throws Refusal 422 `link.invalid`
 */
async function mustStand(
  { parentType, parentId, invitedById }: Awaited<ReturnType<typeof openInvitation>>,
  { db }: Deps,
): Promise<void> {
  if (!(await administers(db, invitedById, { parentType, parentId }))) throw invalidLink(field);
}

export const invitationRoutes: readonly Route[] = [
  ...ownerScopes.flatMap((ownerScope) => [list(ownerScope), revoke(ownerScope)]),
  postInvitationAccept,
];
