import { oauthApplication } from "../../../src/commands/oauth/application.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { OAuthApplicationId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { oauthApplicationEvents } from "../../../src/events/oauth/application.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type OAuthApplicationEvent = EventOf<typeof oauthApplicationEvents>;

const given = specify(oauthApplication);
const ownerId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const stranger = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const details = {
  name: "Board",
  description: "",
  homepageUrl: "",
  authCallbackUrl: "https://board.example.org/callback",
  standalone: false,
} as const;
const facts = {
  applicationId: OAuthApplicationId.parse("3f2e1d0c-5b4a-4938-8716-a5b4c3d2e1f0"),
  ownerId,
  details,
  clientId: "client",
  clientSecret: Sealed.parse(`sealed.user-${ownerId}.AAAA`),
} as const;
const own = { by: ownerId, at } as const;
const foreign = { by: stranger, at } as const;

const created: OAuthApplicationEvent = {
  type: "OAuthApplicationCreated",
  data: { ...facts, createdAt: at },
};
const registered: OAuthApplicationEvent = {
  type: "OAuthApplicationRegistered",
  data: { registeredById: ownerId, registeredAt: at },
};
const deleted: OAuthApplicationEvent = {
  type: "OAuthApplicationDeleted",
  data: { deletedById: ownerId, deletedAt: at },
};

describe("an OAuth application", () => {
  it("is created once", () => {
    const create = { type: "CreateOAuthApplication", ...facts, at } as const;
    given().when(create).gives(created);
    given(created).when(create).refuses("oauth_application.exists");
  });

  it("is changed when something differs", () => {
    const changed = { ...details, authCallbackUrl: "https://other.example.org/" };
    given(created)
      .when({ type: "ChangeOAuthApplication", details: changed, ...own })
      .gives({
        type: "OAuthApplicationChanged",
        data: { details: changed, changedById: ownerId, changedAt: at },
      });
    given(created)
      .when({ type: "ChangeOAuthApplication", details, ...own })
      .givesNothing();
  });

  it("is registered once", () => {
    const register = { type: "RegisterOAuthApplication", ...own } as const;
    given(created).when(register).gives(registered);
    given(created, registered).when(register).givesNothing();
  });

  it("is deleted for good", () => {
    const remove = { type: "DeleteOAuthApplication", ...own } as const;
    given(created, registered).when(remove).gives(deleted);
    given(created, deleted).when(remove).refuses("oauth_application.not_found");
  });

  it("is its owner's alone", () => {
    const missing = "oauth_application.not_found";
    given(created)
      .when({ type: "DeleteOAuthApplication", ...foreign })
      .refuses(missing);
    given(created)
      .when({ type: "RegisterOAuthApplication", ...foreign })
      .refuses(missing);
    given(created)
      .when({ type: "ChangeOAuthApplication", details, ...foreign })
      .refuses(missing);
  });
});
