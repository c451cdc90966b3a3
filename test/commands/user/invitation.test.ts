import { invitation } from "../../../src/commands/user/invitation.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { Role } from "../../../src/events/core/role.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { InvitationEvent } from "../../../src/events/user/invitation.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(invitation);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const userId = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const later = "2026-02-02T00:00:00.000Z";
const fields = { parentId: "p", parentType: "TEAM", invitedById: by } as const;

const facts = (invitationId: string, role: Role = "GUEST") => ({
  ...fields,
  invitationId,
  role,
  email: Sealed.parse("sealed.invitation-1.AAAA"),
  emailDigest: "d1",
  tokenHash: `hash of ${invitationId}`,
  expiresAt: "2026-01-09T03:04:05.678Z",
});
const made = (id: string, role?: Role, when = at): InvitationEvent => ({
  type: "InvitationMade",
  data: { ...facts(id, role), invitedAt: when },
});
const revoked = (invitationId: string, revokedById: UserId | null = by, when = at) =>
  ({
    type: "InvitationRevoked",
    data: { invitationId, revokedById, revokedAt: when },
  }) satisfies InvitationEvent;
const accepted: InvitationEvent = {
  type: "InvitationAccepted",
  data: { ...fields, invitationId: "i1", role: "GUEST", userId, acceptedAt: at },
};
const invite = (id: string, role?: Role, when = at) =>
  ({ type: "Invite", invitation: facts(id, role), at: when }) as const;

describe("inviting an address", () => {
  it("is recorded once while it is open", () => {
    given().when(invite("i1")).gives(made("i1"));
    given(made("i1")).when(invite("i2")).givesNothing();
  });

  it("takes the place of one with another role, or one that expired", () => {
    given(made("i1")).when(invite("i2", "ADMIN")).gives(revoked("i1"), made("i2", "ADMIN"));
    given(made("i1"))
      .when(invite("i2", "GUEST", later))
      .gives(revoked("i1", by, later), made("i2", "GUEST", later));
  });
});

describe("an invitation", () => {
  const link = { type: "AcceptByLink", tokenHash: "hash of i1", userId, at } as const;
  const address = { type: "AcceptByAddress", invitationId: "i1", userId, at } as const;

  it("is accepted once, by its link or by who proved the address", () => {
    given(made("i1")).when(link).gives(accepted);
    given(made("i1")).when(address).gives(accepted);
    given(made("i1"), accepted).when(link).refuses("link.invalid");
    given(made("i1"), accepted).when(address).givesNothing();
  });

  it("is not accepted by another link, once revoked or once expired", () => {
    given(made("i1"))
      .when({ ...link, tokenHash: "x" })
      .refuses("link.invalid");
    given(made("i1"), revoked("i1")).when(link).refuses("link.invalid");
    given(made("i1"))
      .when({ ...link, at: later })
      .refuses("link.invalid");
    given(made("i1"))
      .when({ ...address, at: later })
      .givesNothing();
    given().when(link).refuses("link.invalid");
  });

  it("is revoked once", () => {
    const command = { type: "RevokeInvitation", invitationId: "i1", by, at } as const;
    given(made("i1")).when(command).gives(revoked("i1"));
    given(made("i1"), revoked("i1")).when(command).refuses("invitation.not_found");
    given(made("i1"))
      .when({ ...command, by: null })
      .gives(revoked("i1", null));
  });
});
