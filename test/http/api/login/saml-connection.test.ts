import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { loginConnectionStream } from "../../../../src/events/login/connection.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { givenCertificate } from "../../../support/client/certificate.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const { cert, key } = await givenCertificate();
const next = await givenCertificate();

const at = "/admin/saml";
const company = {
  name: "Company",
  idpMetadataUrl: "https://idp.example.org/metadata",
  idpIssuer: "https://idp.example.org",
  idpInitiatedSsoUrl: "https://idp.example.org/start",
  cert,
};
const own = { token: root.token };
const create = (over: object = {}) => app.post(at, { ...own, body: { ...company, ...over } });
const all = async () => {
  const { body } = await app.get(`${at}?size=200`, own);
  return (body["_embedded"] as { samlAdminApiModelList: Record<string, unknown>[] })
    .samlAdminApiModelList;
};
const one = async (uuid: unknown) => (await all()).find((each) => each["uuid"] === uuid);

describe("SAML connections", () => {
  it("are created, listed and changed, with every field", async () => {
    const { status, body: made } = await create();
    expect(status).to.equal(200);
    expect(made).to.include({ ...company, isEnabled: false, trustEmail: false });
    const entityId = `${app.url}/login/saml/${made["uuid"]}`;
    expect(made).to.include({
      spEntityId: entityId,
      spMetadataUrl: `${entityId}/metadata`,
      spAcsUrl: `${entityId}/acs`,
    });
    expect(await one(made["uuid"])).to.deep.equal(made);

    const change = { ...company, name: "Concern", cert: next.cert, trustEmail: "true" };
    const changed = await app.put(`${at}/${made["uuid"]}`, { ...own, body: change });
    expect(changed.status, changed.text).to.equal(200);
    expect(changed.body).to.deep.equal({
      ...made,
      name: "Concern",
      cert: next.cert,
      trustEmail: true,
    });
    expect(await one(made["uuid"])).to.deep.equal(changed.body);
  });

  for (const form of ["change-status/", "/change-status/", "change-status", "/change-status"]) {
    it(`are switched at {samlUuid}${form}, at both prefixes`, async () => {
      const { uuid } = (await create()).body as { uuid: string };
      for (const prefix of ["", "/rest-api"]) {
        for (const isEnabled of [true, false]) {
          const path = `${prefix}${at}/${uuid}${form}?isEnabled=${isEnabled}`;
          expect((await app.put(path, own)).status).to.equal(200);
          expect(await one(uuid)).to.include({ isEnabled });
        }
      }
    });
  }

  it("are not switched to something that is no boolean, nor to nothing", async () => {
    const { uuid } = (await create()).body as { uuid: string };
    for (const query of [
      "",
      "?isEnabled=",
      "?isEnabled=maybe",
      "?isEnabled=true&isEnabled=false",
    ]) {
      const answer = await app.put(`${at}/${uuid}change-status/${query}`, own);
      expect(answer.status, query).to.equal(422);
    }
    expect(await one(uuid)).to.include({ isEnabled: false });
  });

  it("exist under their own ids only", async () => {
    for (const [method, path] of [
      ["PUT", `${at}/${randomUUID()}`],
      ["PUT", `${at}/${randomUUID()}change-status/?isEnabled=true`],
      ["PUT", `${at}/not-an-id`],
    ] as const) {
      const answer = await app.send(method, path, { ...own, body: company });
      expect(answer.status, path).to.equal(404);
    }
  });

  it("are the administrator's alone", async () => {
    const { uuid } = (await create()).body as { uuid: string };
    const head = await app.head();
    for (const [method, path] of [
      ["GET", at],
      ["POST", at],
      ["PUT", `${at}/${uuid}`],
      ["PUT", `${at}/${uuid}change-status/?isEnabled=true`],
    ] as const) {
      const sent = method === "GET" ? {} : { body: company };
      const answer = await app.send(method, path, { token: anna.token, ...sent });
      expect(answer.status, `${method} ${path}`).to.equal(403);
    }
    expect(await app.head()).to.equal(head);
  });

  for (const [what, over, field, why] of [
    ["no certificate", { cert: "" }, "cert", ""],
    ["a text for a certificate", { cert: "certificate" }, "cert", "not an X.509 certificate"],
    ["a private key", { cert: key }, "cert", "private key"],
    ["a list of certificates", { cert: [cert] }, "cert", ""],
    ["no issuer", { idpIssuer: " " }, "idpIssuer", ""],
    ["no name", { name: undefined }, "name", ""],
    ["metadata on this machine", { idpMetadataUrl: "http://127.0.0.1/m" }, "idpMetadataUrl", ""],
    ["metadata at the cloud", { idpMetadataUrl: "http://169.254.169.254/" }, "idpMetadataUrl", ""],
    ["metadata in a file", { idpMetadataUrl: "file:///etc/passwd" }, "idpMetadataUrl", ""],
    [
      "a script to start at",
      { idpInitiatedSsoUrl: "javascript:alert(1)" },
      "idpInitiatedSsoUrl",
      "",
    ],
    [
      "nowhere to begin",
      { idpMetadataUrl: "", idpInitiatedSsoUrl: "" },
      "idpInitiatedSsoUrl",
      "where logins begin",
    ],
  ] as const) {
    it(`are refused ${what}, saying why`, async () => {
      const head = await app.head();
      const { status, body } = await create(over);
      expect(status).to.equal(422);
      const errors = body["errors"] as { field: string; message: string }[];
      expect(errors[0]?.field).to.equal(field);
      expect(errors[0]?.message).to.contain(why);
      expect(await app.head()).to.equal(head);
    });
  }

  it("take no id and no status from their maker", async () => {
    const { body } = await create({ uuid: randomUUID(), isEnabled: true, kind: "LDAP" });
    expect(body).to.include({ isEnabled: false });
  });

  it("keep their certificate out of the log's clear text", async () => {
    const { body } = await create();
    const written: string[] = [];
    for await (const { data } of app.deps.store.readStream(
      loginConnectionStream(String(body["uuid"])),
    )) {
      written.push(JSON.stringify(data));
    }
    expect(written).to.have.length(1);
    expect(written.join()).not.to.contain(cert.split("\n")[1]);
  });
});
