import { loginConnection } from "../../../src/commands/login/connection.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { LoginConnectionId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { loginConnectionEvents, SamlDetails } from "../../../src/events/login/connection.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type LoginConnectionEvent = EventOf<typeof loginConnectionEvents>;

const given = specify(loginConnection);
const connectionId = LoginConnectionId.parse("5d6e7f80-91a2-4b3c-8d4e-5f60718293a4");
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const cert = Sealed.parse(`sealed.connection-${connectionId}.AAAA`);
const details: SamlDetails = {
  kind: "SAML",
  name: "Company",
  trustEmail: false,
  idpMetadataUrl: "",
  idpIssuer: "https://idp.example.org",
  idpInitiatedSsoUrl: "https://idp.example.org/sso",
  cert,
  certDigest: "one",
};
const stamp = { by, at } as const;
const created: LoginConnectionEvent = {
  type: "LoginConnectionCreated",
  data: { connectionId, details, createdById: by, createdAt: at },
};
const enabled: LoginConnectionEvent = {
  type: "LoginConnectionEnabled",
  data: { enabledById: by, enabledAt: at },
};
const disabled: LoginConnectionEvent = {
  type: "LoginConnectionDisabled",
  data: { disabledById: by, disabledAt: at },
};
const changeTo = (details: SamlDetails) =>
  ({ type: "ChangeLoginConnection", details, ...stamp }) as const;
const set = (on: boolean) =>
  ({ type: "SetLoginConnectionStatus", kind: "SAML", enabled: on, ...stamp }) as const;

describe("a login connection", () => {
  it("is created once, and is off at first", () => {
    const create = { type: "CreateLoginConnection", connectionId, details, ...stamp } as const;
    given().when(create).gives(created);
    given(created).when(create).refuses("login_connection.exists");
    given(created).when(set(false)).givesNothing();
  });

  it("is enabled and disabled, each once", () => {
    given(created).when(set(true)).gives(enabled);
    given(created, enabled).when(set(true)).givesNothing();
    given(created, enabled).when(set(false)).gives(disabled);
    given(created, enabled, disabled).when(set(true)).gives(enabled);
  });

  it("is changed when something differs, and stays enabled", () => {
    const named = { ...details, name: "Concern" };
    const data = { details: named, changedById: by, changedAt: at };
    given(created).when(changeTo(named)).gives({ type: "LoginConnectionChanged", data });
    given(created, enabled, { type: "LoginConnectionChanged", data })
      .when(set(true))
      .givesNothing();
  });

  it("is not changed by the same certificate sealed anew, but is by another", () => {
    const resealed = Sealed.parse(`sealed.connection-${connectionId}.BBBB`);
    given(created)
      .when(changeTo({ ...details, cert: resealed }))
      .givesNothing();
    const other = { ...details, cert: resealed, certDigest: "two" };
    const data = { details: other, changedById: by, changedAt: at };
    given(created).when(changeTo(other)).gives({ type: "LoginConnectionChanged", data });
  });

  it("is nothing under another kind, or before it is created", () => {
    const missing = "login_connection.not_found";
    given().when(set(true)).refuses(missing);
    given().when(changeTo(details)).refuses(missing);
    given(created)
      .when({ ...set(true), kind: "LDAP" })
      .refuses(missing);
  });
});
