import type { UserId } from "../events/ids.ts";
import { type MembershipEvent, membershipEvents, membershipStream } from "../events/membership.ts";
import type { ParentType, Role } from "../events/role.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Decider, Slice } from "./decider.ts";

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
  | (Common & Readonly<{ type: "ChangeMemberRole"; role: Role }>)
  | (Common & Readonly<{ type: "RemoveMember" }>);

type State = Readonly<{ roles: ReadonlyMap<string, Role> }>;

const decider: Decider<State, MembershipCommand, MembershipEvent> = {
  initialState: { roles: new Map() },

  decide(state, command) {
    const { parentId, parentType, userId, ownerId, by, at } = command;
    const member = { parentId, parentType, userId };
    const current = state.roles.get(userId);
    switch (command.type) {
      case "AddMember": {
        const { role } = command;
        if (userId !== ownerId && current === role) return [];
        if (userId === ownerId || current !== undefined) throw alreadyMember();
        return [{ type: "MemberAdded", data: { ...member, role, addedById: by, addedAt: at } }];
      }
      case "ChangeMemberRole": {
        const { role } = command;
        if (userId === ownerId) {
          if (role === "ADMIN") return [];
          throw lastAdministrator();
        }
        if (current === undefined) throw notMember();
        if (current === role) return [];
        const data = {
          ...member,
          role,
          previousRole: current,
          changedById: by,
          changedAt: at,
        };
        return [{ type: "MemberRoleChanged", data }];
      }
      case "RemoveMember": {
        if (userId === ownerId) throw lastAdministrator();
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
        return { roles: new Map(roles).set(userId, event.data.role) };
      case "MemberRemoved": {
        const left = new Map(roles);
        left.delete(userId);
        return { roles: left };
      }
      default:
        return unreachable(event);
    }
  },
};

function alreadyMember(): Refusal {
  const message = "This user is a member already; change the role instead.";
  return new Refusal("unprocessable", "member.exists", message, {
    errors: [{ field: "userAlias", code: "member.exists", message }],
  });
}

const notMember = (): Refusal =>
  new Refusal("not_found", "member.not_found", "This user is not a member.");

/** Somebody must always be able to administer it: its owner is. */
const lastAdministrator = (): Refusal =>
  new Refusal(
    "unprocessable",
    "member.last_admin",
    "The owner is always an ADMIN; transfer the ownership instead.",
  );

export const membership: Slice<State, MembershipCommand, typeof membershipEvents> = {
  events: membershipEvents,
  stream: membershipStream,
  decider,
};
