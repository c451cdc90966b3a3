import { expect } from "chai";

import { loginConnectionStream } from "../../../../src/events/login/connection.ts";
import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });

const at = "/admin/oidc";
const own = { token: root.token };
const secret = "the client's secret";
const company = {
  name: "Provider",
  issuer: "https://op.example.org",
  clientId: "forge",
  clientSecret: secret,
};
const create = (over: object = {}) => app.post(at, { ...own, body: { ...company, ...over } });
const change = (uuid: unknown, over: object) =>
  app.put(`${at}/${uuid}`, { ...own, body: { ...company, clientSecret: undefined, ...over } });

describe("OIDC connections", () => {
  it("are created, listed, changed and switched; the secret is never shown", async () => {
    const { status, body: made, text } = await create();
    expect(status, text).to.equal(200);
    expect(made).to.deep.equal({
      uuid: made["uuid"],
      name: "Provider",
      issuer: "https://op.example.org",
      clientId: "forge",
      hasClientSecret: true,
      scopes: ["openid", "email", "profile"],
      trustEmail: false,
      allowRegistration: true,
      isEnabled: false,
      redirectUri: `${app.url}/login/oidc/${made["uuid"]}/callback`,
    });
    const changed = await change(made["uuid"], { scopes: ["email"], allowRegistration: false });
    expect(changed.body).to.deep.equal({
      ...made,
      scopes: ["openid", "email"],
      allowRegistration: false,
    });
    await app.put(`${at}/${made["uuid"]}/change-status?isEnabled=true`, own);
    const { body, text: listed } = await app.get(at, own);
    const list = (body["_embedded"] as { oidcAdminApiModelList: unknown[] }).oidcAdminApiModelList;
    expect(list).to.deep.include({ ...changed.body, isEnabled: true });
    expect(listed).not.to.contain(secret);
    for await (const { data } of app.deps.store.readStream(
      loginConnectionStream(String(made["uuid"])),
    )) {
      expect(JSON.stringify(data)).not.to.contain(secret);
    }
  });

  it("keep the secret for the same provider and client only", async () => {
    const { uuid } = (await create()).body;
    expect((await change(uuid, { name: "Renamed" })).body).to.include({ hasClientSecret: true });
    for (const over of [{ issuer: "https://evil.example.org" }, { clientId: "other" }]) {
      expect((await change(uuid, over)).body).to.include({ code: "oidc.secret_needed" });
    }
    const open = await change(uuid, { clientSecret: "" });
    expect(open.body).to.include({ hasClientSecret: false });
  });

  for (const [what, over] of [
    ["an issuer on this machine", { issuer: "https://127.0.0.1" }],
    ["an issuer without TLS", { issuer: "http://op.example.org" }],
    ["an issuer with a query", { issuer: "https://op.example.org/?a=b" }],
    ["an issuer with a fragment", { issuer: "https://op.example.org/#a" }],
    ["no client", { clientId: "" }],
    ["scopes with spaces", { scopes: ["openid email"] }],
    ["a secret that is a list", { clientSecret: [secret] }],
  ] as const) {
    it(`are refused ${what}`, async () => {
      const head = await app.head();
      expect((await create(over)).status).to.equal(422);
      expect(await app.head()).to.equal(head);
    });
  }
});
