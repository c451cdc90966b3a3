import { externalIdentity } from "../../../src/commands/login/external-identity.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { LoginConnectionId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { externalIdentityEvents } from "../../../src/events/login/external-identity.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type ExternalIdentityEvent = EventOf<typeof externalIdentityEvents>;

const given = specify(externalIdentity);
const anna = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const boris = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");

const facts = (userId: UserId) => ({
  connectionId: LoginConnectionId.parse("5d6e7f80-91a2-4b3c-8d4e-5f60718293a4"),
  subjectDigest: "8f2e",
  subject: Sealed.parse(`sealed.user-${userId}.AAAA`),
  userId,
  linkedBy: "registration" as const,
});
const link = (userId: UserId) => ({ type: "LinkExternalIdentity", ...facts(userId), at }) as const;
const linked = (userId: UserId): ExternalIdentityEvent => ({
  type: "ExternalIdentityLinked",
  data: { ...facts(userId), linkedAt: at },
});

describe("an external identity", () => {
  it("belongs to the first account it is linked to", () => {
    given().when(link(anna)).gives(linked(anna));
    given(linked(anna)).when(link(anna)).givesNothing();
    given(linked(anna)).when(link(boris)).refuses("external_identity.taken");
  });

  it("is free again when that account is gone, and no other", () => {
    given(linked(anna))
      .when({ ...link(boris), goneUserId: anna })
      .gives(linked(boris));
    given(linked(anna))
      .when({ ...link(boris), goneUserId: boris })
      .refuses("external_identity.taken");
  });
});
