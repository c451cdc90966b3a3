import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { oauthApplicationStream } from "../../../../src/events/oauth/application.ts";
import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");

const at = "/user/settings/oauth";
const board = {
  name: "Board",
  description: "Shows builds",
  homepageUrl: "https://board.example.org",
  authCallbackUrl: "https://board.example.org/callback",
  standalone: false,
};
const create = (over: object = {}, token = anna.token) =>
  app.post(at, { token, body: { ...board, ...over } });

describe("OAuth applications", () => {
  it("are created with an id and a secret, listed, changed, registered and deleted", async () => {
    const { status, body: made } = await create({ standalone: "true" });
    expect(status).to.equal(200);
    expect(made).to.include({ ...board, standalone: true });
    expect(made["clientId"]).to.match(/^[0-9a-f]{32}$/);
    expect(made["clientSecret"]).to.match(/^[\w-]{43}$/);

    const own = { token: anna.token };
    for (const path of [at, `${at}/`]) {
      const { body } = await app.get(path, own);
      expect(body["_embedded"]).to.deep.equal({ oauthModelList: [made] });
    }
    const one = `${at}/${made["id"]}`;
    expect((await app.get(one, own)).body).to.deep.equal(made);
    const changed = await app.put(one, { ...own, body: { ...board, name: "Wall" } });
    expect(changed.body).to.deep.equal({ ...made, name: "Wall", standalone: false });
    expect((await app.post(`${one}/register`, own)).body).to.deep.equal(changed.body);
    expect((await app.delete(one, own)).status).to.equal(200);
    expect((await app.get(one, own)).body).to.include({
      status: 404,
      code: "oauth_application.not_found",
    });
    expect((await app.delete(one, own)).status).to.equal(404);
  });

  it("take only https, loopback and private-use addresses to return to", async () => {
    const refused = [
      "http://app.example/callback",
      "http://127.0.0.2/callback",
      "https://name:word@app.example/callback",
      "https://app.example/callback#x",
      "myapp:/callback",
      "javascript:alert(1)",
      "java.script",
      "data:text/html,x",
      "ftp://app.example/",
      "https://app.example/a b",
      "org.example.app:/\\evil",
    ];
    for (const authCallbackUrl of refused) {
      expect((await create({ authCallbackUrl })).status, authCallbackUrl).to.equal(422);
    }
  });

  it("are nobody else's: not shown, changed, registered or deleted", async () => {
    const { body } = await create();
    const one = `${at}/${body["id"]}`;
    const head = await app.head();
    for (const [method, path] of [
      ["GET", one],
      ["PUT", one],
      ["POST", `${one}/register`],
      ["DELETE", one],
      ["GET", `${at}/${randomUUID()}`],
      ["GET", `${at}/not-an-id`],
    ] as const) {
      const sent = method === "PUT" ? { body: board } : {};
      const answer = await app.send(method, path, { token: boris.token, ...sent });
      expect(answer.status, `${method} ${path}`).to.equal(404);
    }
    expect(await app.head()).to.equal(head);
    const list = await app.get(at, { token: boris.token });
    expect(list.body["_embedded"]).to.deep.equal({ oauthModelList: [] });
  });

  it("keep their secret out of the log's clear text", async () => {
    const { body } = await create();
    const written: string[] = [];
    for await (const event of app.deps.store.readStream(
      oauthApplicationStream(String(body["id"])),
    )) {
      written.push(JSON.stringify(event.data));
    }
    expect(written).to.have.length(1);
    expect(written.join()).not.to.contain(String(body["clientSecret"]));
  });

  for (const authCallbackUrl of [
    "",
    "board",
    "javascript:alert(1)",
    "https://board.example.org/callback#fragment",
    "https://user:secret@board.example.org/callback",
    "//board.example.org",
    ["https://board.example.org/callback"],
  ]) {
    it(`are refused the callback ${JSON.stringify(authCallbackUrl)}`, async () => {
      const head = await app.head();
      expect((await create({ authCallbackUrl })).status).to.equal(422);
      expect(await app.head()).to.equal(head);
    });
  }

  it("take no id, secret or owner from their maker", async () => {
    const over = { id: randomUUID(), clientId: "mine", clientSecret: "mine", ownerId: boris.id };
    const { body } = await create(over);
    for (const field of ["id", "clientId", "clientSecret"] as const) {
      expect(body[field]).not.to.equal(over[field]);
    }
    const list = await app.get(at, { token: boris.token });
    expect(list.body["page"]).to.include({ totalElements: 0 });
  });
});
