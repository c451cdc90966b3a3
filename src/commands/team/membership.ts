import type { UserId } from "../../events/core/ids.ts";
import { type ParentType, Role } from "../../events/core/role.ts";
import {
  type MembershipEvent,
  membershipEvents,
  membershipStream,
} from "../../events/team/membership.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { PartedMap } from "../core/parted-map.ts";

/** What every command carries: the parent, and who it belongs to in the end. */
type Common = Readonly<{
  parentId: string;
  parentType: ParentType;
  /** Counts as ADMIN without being added, and so is the ADMIN who is always left. */
  ownerId: string;
  userId: UserId;
  by: UserId;
  at: string;
}>;

export type MembershipCommand =
  | (Common & Readonly<{ type: "AddMember"; role: Role }>)
  /** Gives the higher of the role held and this one. */
  | (Common & Readonly<{ type: "AdmitMember"; role: Role }>)
  | (Common & Readonly<{ type: "ChangeMemberRole"; role: Role }>)
  | (Common & Readonly<{ type: "RemoveMember" }>);

type State = Readonly<{ roles: PartedMap<Role> }>;

export const membership: Slice<State, MembershipCommand, typeof membershipEvents> = {
  events: membershipEvents,
  stream: membershipStream,
  initialState: { roles: PartedMap.empty },

  decide(state, command) {
    const { parentId, parentType, userId, ownerId, by, at } = command;
    const member = { parentId, parentType, userId };
    const current = state.roles.get(userId);
    switch (command.type) {
      case "AddMember":
        if (userId === ownerId || current !== undefined) throw alreadyMember();
        return [added(command)];
      case "AdmitMember":
        if (userId === ownerId) return [];
        if (current === undefined) return [added(command)];
        return isHigher(command.role, current) ? [changed(command, current)] : [];
      case "ChangeMemberRole": {
        const { role } = command;
        if (userId === ownerId) {
          if (role === "ADMIN") return [];
          throw isOwner();
        }
        if (current === undefined) throw notMember();
        return current === role ? [] : [changed(command, current)];
      }
      case "RemoveMember": {
        if (userId === ownerId) throw isOwner();
        if (current === undefined) throw notMember();
        const data = { ...member, role: current, removedById: by, removedAt: at };
        return [{ type: "MemberRemoved", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve({ roles }, event) {
    const { userId } = event.data;
    switch (event.type) {
      case "MemberAdded":
      case "MemberRoleChanged":
        return { roles: roles.with(userId, event.data.role) };
      case "MemberRemoved":
        return { roles: roles.without(userId) };
      default:
        return unreachable(event);
    }
  },
};

type WithRole = Common & Readonly<{ role: Role }>;

function added({ parentId, parentType, userId, role, by, at }: WithRole): MembershipEvent {
  const data = { parentId, parentType, userId, role, addedById: by, addedAt: at };
  return { type: "MemberAdded", data };
}

function changed(
  { parentId, parentType, userId, role, by, at }: WithRole,
  previousRole: Role,
): MembershipEvent {
  const member = { parentId, parentType, userId };
  const data = { ...member, role, previousRole, changedById: by, changedAt: at };
  return { type: "MemberRoleChanged", data };
}

const isHigher = (role: Role, than: Role): boolean =>
  Role.options.indexOf(role) > Role.options.indexOf(than);

function alreadyMember(): Refusal {
  const message = "This user is a member already; change the role instead.";
  return new Refusal("unprocessable", "member.exists", message, {
    errors: [{ field: "userAlias", code: "member.exists", message }],
  });
}

const notMember = (): Refusal =>
  new Refusal("not_found", "member.not_found", "This user is not a member.");

/** The owner is the ADMIN who is always left. */
function isOwner(): Refusal {
  const message = "The owner is always an ADMIN; transfer the ownership instead.";
  return new Refusal("unprocessable", "member.owner", message, {
    errors: [{ field: "userAlias", code: "member.owner", message }],
  });
}
