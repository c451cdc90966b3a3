import { z } from "zod";
import { type MembershipCommand, membership } from "../../../commands/team/membership.ts";
import type { UserId } from "../../../events/core/ids.ts";
import { Role } from "../../../events/core/role.ts";
import { listMembers, memberProjection } from "../../../projections/team/member.ts";
import { findUser } from "../../../projections/user/user.ts";
import type { Resolved } from "../../access/gate.ts";
import {
  type OwnerScope,
  ownerScopes,
  parentOf,
  readingAt,
  writingAt,
} from "../../access/owner-scope.ts";
import { stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { inviteByEmail } from "../user/invitation.ts";
import { Email, mustBeFound } from "../user/user.ts";
import { UserView, userView } from "../user/view.ts";

export const MemberView = UserView.extend({ role: Role }).meta({ id: "Member" });

const MemberRole = z
  .object({ userAlias: z.string().min(1).max(nameLengthMax), role: Role })
  .meta({ id: "MemberRole" });

const emptyField = { code: "custom", params: { code: "error.field.empty" } } as const;

const MemberInvitation = z
  .object({
    userAlias: z.string().min(1).max(nameLengthMax).optional(),
    email: Email.optional().meta({ description: "Of a person who need not have an account." }),
    role: Role,
  })
  .superRefine(({ userAlias, email }, context) => {
    if ((userAlias === undefined) !== (email === undefined)) return;
    const message = "Name the person by either alias or e-mail";
    context.addIssue({ ...emptyField, path: ["userAlias"], message });
  })
  .meta({ id: "MemberInvitation", examples: [{ userAlias: "anna", role: "DEVELOPER" }] });

/** The members of projects, teams and companies: the same four operations at each. */
export const memberRoutes: readonly Route[] = ownerScopes.flatMap((ownerScope) => [
  list(ownerScope),
  invite(ownerScope),
  changeRole(ownerScope),
  remove(ownerScope),
]);

function list(ownerScope: OwnerScope): Route {
  return route({
    ...readingAt(ownerScope, "GUEST"),
    method: "get",
    path: `${ownerScope.base}/member`,
    operationId: `list${ownerScope.noun}Members`,
    summary: `List the members of a ${ownerScope.resource}`,
    description: "The owner comes first, as ADMIN.",
    query: z.object({
      q: z.string().max(255).optional().meta({ description: "Part of the user's alias." }),
    }),
    list: "userList",
    asOf: { readModels: [memberProjection] },
    reply: MemberView,
    handle({ query, page, request }, { db }) {
      const { id: parentId, ownerUserId: ownerId } = parentOf(request);
      const found = listMembers(db, { parentId, ownerId, alias: query.q, ...page });
      return listed(found, (row) => ({ ...userView(row), role: row.role }));
    },
  });
}

function invite(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "post",
    path: `${ownerScope.base}/member/invite`,
    operationId: `invite${ownerScope.noun}Member`,
    summary: `Add a member to a ${ownerScope.resource}`,
    description:
      "A person named by alias is a member at once. A mail with a link goes to an e-mail, whether or not " +
      "there is an account to it; who follows it becomes a member.",
    body: MemberInvitation,
    reply: "empty",
    handle: ({ body: { userAlias, email, role }, request }, deps) =>
      email === undefined
        ? change({ type: "AddMember", role }, userAlias ?? "", request, deps)
        : inviteByEmail({ email, role }, request, deps),
  });
}

function changeRole(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "put",
    path: `${ownerScope.base}/member/role`,
    operationId: `change${ownerScope.noun}MemberRole`,
    summary: `Change the role of a member of a ${ownerScope.resource}`,
    body: MemberRole,
    reply: "empty",
    handle: ({ body: { userAlias, role }, request }, deps) =>
      change({ type: "ChangeMemberRole", role }, userAlias, request, deps),
  });
}

function remove(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "delete",
    path: `${ownerScope.base}/member/{userAlias}`,
    operationId: `remove${ownerScope.noun}Member`,
    summary: `Remove a member of a ${ownerScope.resource}`,
    description: "Members may remove themselves; the owner cannot be removed.",
    selfParam: "userAlias",
    reply: "empty",
    handle: ({ params, request }, deps) =>
      change({ type: "RemoveMember" }, params.userAlias, request, deps),
  });
}

type Wish = Readonly<
  { type: "AddMember" | "ChangeMemberRole"; role: Role } | { type: "RemoveMember" }
>;

/** @throws Refusal 404 for an unknown user, and what the members' own rules refuse */
async function change(
  wish: Wish,
  userAlias: string,
  request: RequestContext & Resolved & Readonly<{ userId: UserId }>,
  { db, now }: Deps,
): Promise<void> {
  const { id, type: parentType, ownerUserId: ownerId } = parentOf(request);
  const user = mustBeFound(await findUser(db, userAlias));
  const command: MembershipCommand = {
    ...wish,
    parentId: id,
    parentType,
    ownerId,
    userId: user.id,
    ...stampOf(request, { now }),
  };
  await request.execute(membership, id, command);
}
