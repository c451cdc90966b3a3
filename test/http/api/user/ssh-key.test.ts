import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const admin = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");

/** A fresh ed25519 key as OpenSSH writes it. */
function newKey(): string {
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  const string = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const fields = [Buffer.from("ssh-ed25519"), Buffer.from(x, "base64url")].map(string);
  return `ssh-ed25519 ${Buffer.concat(fields).toString("base64")}`;
}

type Key = Readonly<{ uuid: string; publicKey: string; expiresAt: string | null }>;
const add = async (token: string, over: object = {}, at = "/user/settings/add-ssh-key") => {
  const body = { publicKey: newKey(), title: "laptop", expiresAt: "", ...over };
  return { ...(await app.post(at, { token, body })), sent: body };
};
const listed = async (token: string, at = "/user/settings/ssh-key") => {
  const { body } = await app.get(at, { token });
  return (body["_embedded"] as { userPublicSshKeyModelList: Key[] }).userPublicSshKeyModelList;
};

describe("one's own SSH keys", () => {
  it("are added without their comment, listed and deleted", async () => {
    const publicKey = newKey();
    const { status, body } = await add(anna.token, { publicKey: `${publicKey} anna@laptop` });
    expect(status).to.equal(200);
    const { uuid, ...rest } = body;
    expect(rest).to.deep.equal({
      publicKey,
      title: "laptop",
      expiresAt: null,
      userUuid: anna.id,
      lastUsedAt: null,
    });
    expect(await listed(anna.token)).to.deep.equal([body]);

    const at = `/user/settings/ssh-key/${uuid}`;
    expect((await app.delete(at, { token: boris.token })).status).to.equal(404);
    expect((await app.delete(at, { token: anna.token })).status).to.equal(200);
    expect((await app.delete(at, { token: anna.token })).status).to.equal(404);
    expect(await listed(anna.token)).to.deep.equal([]);
  });

  it("belong to one account of the instance, until they are deleted", async () => {
    const publicKey = newKey();
    const first = await add(anna.token, { publicKey });
    const taken = { status: 422, code: "ssh_key.taken" };
    expect((await add(boris.token, { publicKey })).body).to.include(taken);
    expect((await add(anna.token, { publicKey })).body).to.include(taken);
    await app.delete(`/user/settings/ssh-key/${first.body["uuid"]}`, { token: anna.token });
    expect((await add(boris.token, { publicKey })).status).to.equal(200);
  });

  it("go to one of several who add the same key at once", async () => {
    const publicKey = newKey();
    const tokens = [anna.token, boris.token, admin.token];
    const answers = await Promise.all(tokens.map((token) => add(token, { publicKey })));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422, 422]);
  });

  it("end at the time given, a day with its end", async () => {
    const day = await add(anna.token, { expiresAt: "2099-12-31" });
    expect(day.body["expiresAt"]).to.equal("2099-12-31T23:59:59.999Z");
    const time = await add(anna.token, { expiresAt: "2099-12-31T12:00:00+03:00" });
    expect(time.body["expiresAt"]).to.equal("2099-12-31T09:00:00.000Z");
  });

  for (const [what, over, code] of [
    ["something else", { publicKey: "hello" }, "ssh_key.invalid"],
    ["nothing", { publicKey: "" }, "error.field.empty"],
    ["a list", { publicKey: [newKey()] }, "error.field.type"],
    ["two lines", { publicKey: `${newKey()}\n${newKey()}` }, "ssh_key.invalid"],
    ["no title", { title: " " }, "error.field.empty"],
    ["a time that has passed", { expiresAt: "2001-01-01" }, "ssh_key.expiry_past"],
    ["no time", { expiresAt: "soon" }, "error.field.invalid"],
  ] as const) {
    it(`are refused with ${what}, and nothing happens`, async () => {
      const before = await app.head();
      const { status, body } = await add(anna.token, over);
      expect(status).to.equal(422);
      expect(JSON.stringify(body["errors"])).to.contain(code);
      expect(await app.head()).to.equal(before);
    });
  }
});

describe("an administrator", () => {
  const at = "/admin/user/boris/key";

  it("adds, lists, shows and deletes SSH keys of a user", async () => {
    const { status, body } = await add(admin.token, { title: "given" }, `${at}/create`);
    expect(status).to.equal(200);
    expect(body).to.include({ title: "given", userUuid: boris.id });
    expect(await listed(admin.token, at)).to.deep.include(body);
    const shown = await app.get(`${at}/${body["uuid"]}`, { token: admin.token });
    expect(shown.body).to.deep.equal(body);

    const elsewhere = `/admin/user/anna/key/delete/${body["uuid"]}`;
    expect((await app.delete(elsewhere, { token: admin.token })).status).to.equal(404);
    const gone = `${at}/delete/${body["uuid"]}`;
    expect((await app.delete(gone, { token: admin.token })).status).to.equal(200);
    const again = await app.get(`${at}/${body["uuid"]}`, { token: admin.token });
    expect(again.body).to.include({ status: 404, code: "ssh_key.not_found" });
  });

  it("is the only one who may", async () => {
    const { body } = await add(admin.token, {}, `${at}/create`);
    for (const [method, path] of [
      ["POST", `${at}/create`],
      ["GET", at],
      ["GET", `${at}/${body["uuid"]}`],
      ["DELETE", `${at}/delete/${body["uuid"]}`],
    ] as const) {
      const answer = await app.send(method, path, { token: boris.token });
      expect(answer.body, path).to.include({ status: 403, code: "auth.admin_required" });
    }
  });

  it("gets 404 when there is no such user", async () => {
    const answer = await add(admin.token, {}, "/admin/user/nobody/key/create");
    expect(answer.body).to.include({ status: 404, code: "user.not_found" });
  });
});
