import { expect } from "chai";

import { loginConnectionStream } from "../../../../src/events/login/connection.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { givenCertificate } from "../../../support/client/certificate.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const { cert } = await givenCertificate();

const at = "/admin/ldap";
const own = { token: root.token };
const secret = "reader's secret";
const company = {
  name: "Directory",
  url: "ldaps://10.1.2.3:636",
  baseDn: "ou=people,dc=example,dc=org",
  bindDn: "cn=reader,dc=example,dc=org",
  bindPassword: secret,
};
const create = (over: object = {}) => app.post(at, { ...own, body: { ...company, ...over } });
const change = (uuid: unknown, over: object) =>
  app.put(`${at}/${uuid}`, { ...own, body: { ...company, bindPassword: undefined, ...over } });
const errorOf = (body: Record<string, unknown>) =>
  (body["errors"] as { field: string; code: string }[])[0];

describe("LDAP connections", () => {
  it("are created with the usual attributes, listed, changed and switched", async () => {
    const { status, body: made, text } = await create();
    expect(status, text).to.equal(200);
    const { bindPassword: _, ...shown } = company;
    expect(made).to.deep.equal({
      uuid: made["uuid"],
      ...shown,
      startTls: false,
      plaintext: false,
      caCert: "",
      hasBindPassword: true,
      userFilter: "(&(objectClass=person)(uid={login}))",
      idAttribute: "entryUUID",
      aliasAttribute: "uid",
      emailAttribute: "mail",
      nameAttribute: "givenName",
      surnameAttribute: "sn",
      trustEmail: false,
      isEnabled: false,
    });
    const filter = "(|(sAMAccountName={login})(mail={login}))";
    const changed = await change(made["uuid"], { userFilter: filter, caCert: cert });
    expect(changed.body).to.deep.equal({ ...made, userFilter: filter, caCert: cert });

    const switched = await app.put(`${at}/${made["uuid"]}/change-status?isEnabled=true`, own);
    expect(switched.status).to.equal(200);
    const { body } = await app.get(at, own);
    const list = (body["_embedded"] as { ldapAdminApiModelList: unknown[] }).ldapAdminApiModelList;
    expect(list).to.deep.include({ ...changed.body, isEnabled: true });
  });

  it("never show the password, and keep it sealed in the log", async () => {
    const { body, text } = await create();
    expect(text).not.to.contain(secret);
    const id = String(body["uuid"]);
    for await (const { data } of app.deps.store.readStream(loginConnectionStream(id))) {
      expect(JSON.stringify(data)).not.to.contain(secret);
    }
    expect((await app.get(at, own)).text).not.to.contain(secret);
  });

  it("keep the password when it is not sent again, but never for another address or name", async () => {
    const { uuid } = (await create()).body;
    expect((await change(uuid, { name: "Renamed" })).body).to.include({ hasBindPassword: true });
    for (const over of [{ url: "ldaps://10.6.6.6" }, { bindDn: "cn=other,dc=example,dc=org" }]) {
      const { status, body } = await change(uuid, over);
      expect(status).to.equal(422);
      expect(errorOf(body)).to.include({ field: "bindPassword", code: "ldap.password_needed" });
    }
    const anonymous = await change(uuid, { bindDn: "", bindPassword: "" });
    expect(anonymous.body).to.include({ hasBindPassword: false, bindDn: "" });
  });

  for (const [what, over, field, code] of [
    ["this machine", { url: "ldaps://127.0.0.1" }, "url", "ldap.address"],
    [
      "the cloud's metadata",
      { url: "ldap://169.254.169.254:389", plaintext: true },
      "url",
      "ldap.address",
    ],
    ["another port", { url: "ldaps://10.1.2.3:6379" }, "url", "ldap.port"],
    ["another scheme", { url: "http://10.1.2.3" }, "url", "ldap.url_malformed"],
    ["passwords in clear, unless that is said", { url: "ldap://10.1.2.3" }, "url", "ldap.insecure"],
    ["TLS twice", { startTls: true }, "startTls", "ldap.tls_twice"],
    ["a filter without a place", { userFilter: "(uid=anna)" }, "userFilter", "ldap.filter_invalid"],
    ["half a filter", { userFilter: "(&(uid={login})" }, "userFilter", "ldap.filter_invalid"],
    [
      "a filter without parentheses",
      { userFilter: "uid={login}" },
      "userFilter",
      "ldap.filter_invalid",
    ],
    [
      "an attribute that is a filter",
      { idAttribute: "a)(b" },
      "idAttribute",
      "error.field.invalid",
    ],
    ["a name that is a mechanism", { bindDn: "EXTERNAL" }, "bindDn", "error.field.invalid"],
    ["a name without a password", { bindPassword: "" }, "bindPassword", "ldap.password_needed"],
    ["a bad authority", { caCert: "nobody" }, "caCert", "certificate.invalid"],
  ] as const) {
    it(`are refused ${what}`, async () => {
      const head = await app.head();
      const { status, body, text } = await create(over);
      expect(status, text).to.equal(422);
      expect(errorOf(body)?.field).to.equal(field);
      if (!code.startsWith("error.")) expect(errorOf(body)?.code).to.equal(code);
      expect(await app.head()).to.equal(head);
    });
  }

  it("are no connections of another kind", async () => {
    const { uuid } = (await create()).body;
    for (const other of ["saml", "oidc"]) {
      const answer = await app.put(`/admin/${other}/${uuid}/change-status?isEnabled=true`, own);
      expect(answer.status).to.equal(404);
    }
  });
});
