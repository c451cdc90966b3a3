import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { packageBase as base, registryOf } from "../../../support/package/package.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const { token } = root;
const { stored, list, packageCalled } = registryOf(app, token);

const open = async (globalRegistryAnonymousAccess: boolean) => {
  const body = { globalRegistryAnonymousAccess };
  expect((await app.post("/admin/settings/registry", { token, body })).status).to.equal(200);
};

describe("globalRegistryAnonymousAccess", () => {
  const file = "/generic/shown/1/a.txt";
  let reads: readonly string[];
  before(async () => {
    await stored(file, "hello");
    await stored("/maven/org.shown/lib/1/lib.jar", "jar");
    const { id } = await packageCalled("shown");
    const lib = await packageCalled("org.shown:lib");
    const [jar] = await list(`/${lib["id"]}/package-file`, "simplePackageFileModelList");
    reads = [
      "",
      `/${id}`,
      `/${id}/version-list`,
      `/${id}/1`,
      `/${id}/package-file`,
      file,
      `/maven/${lib["id"]}/1/${jar?.["id"]}/download`,
    ];
  });
  after(() => open(false));

  const statuses = (headers: Record<string, string>, at = reads) =>
    Promise.all(at.map(async (each) => (await fetch(app.url + base + each, { headers })).status));
  const by = (shown: string) => ({ authorization: `token ${shown}` });
  const all = (status: number) => reads.map(() => status);

  it("opens reading to everybody while it is on, at once and back", async () => {
    for (const _ of ["once", "again"]) {
      expect(await statuses({}), "off").to.deep.equal(all(403));
      expect(await statuses(by(anna.token)), "off, with a token").to.deep.equal(all(403));
      expect(await statuses(by(token)), "off, an administrator").to.deep.equal(all(200));
      await open(true);
      expect(await statuses({}), "on").to.deep.equal(all(200));
      expect(await statuses(by(anna.token)), "on, with a token").to.deep.equal(all(200));
      expect(await statuses(by(token)), "on, an administrator").to.deep.equal(all(200));
      await open(false);
    }
  });

  it("reveals nothing to callers without a token while it is off", async () => {
    const answered = (
      await statuses({}, [file, "/generic/nothing/1/a", `/${randomUUID()}`])
    ).join();
    expect(answered).to.equal("403,403,403");
    const { body } = await app.get(base + file);
    expect(body["code"]).to.equal("auth.token_invalid");
    const { body: toAnna } = await app.get(base + file, { token: anna.token });
    expect(toAnna["code"]).to.equal("auth.admin_required");
  });

  it("never opens writing, and believes no wrong token or scope", async () => {
    await open(true);
    const head = await app.head();
    const write = (headers: Record<string, string>) =>
      app.put(base + file, { headers, body: "evil" });
    for (const [headers, code] of [
      [{}, "auth.token_invalid"],
      [by(anna.token), "auth.admin_required"],
      [by(await app.givenToken(root.id, ["READ_REGISTRY"])), "auth.scope_missing"],
    ] as const) {
      const { status, body } = await write(headers);
      expect([status, body["code"]]).to.deep.equal([403, code]);
    }
    expect(await statuses(by("lfat_wrong"))).to.deep.equal(all(403));
    const other = by(await app.givenToken(anna.id, ["PROJECT_READ"]));
    expect(await statuses(other)).to.deep.equal(all(403));
    const reader = by(await app.givenToken(anna.id, ["READ_REGISTRY"]));
    expect(await statuses(reader)).to.deep.equal(all(200));
    expect((await app.get(base + file)).text).to.equal("hello");
    // The tokens alone were written.
    const since = [];
    const after = head === undefined ? {} : { after: head };
    for await (const { type } of app.platform.store.readAll(after)) since.push(type);
    expect(new Set(since)).to.deep.equal(new Set(["AccessTokenCreated"]));
  });

  it("opens them to a transport token of an administrator without it", async () => {
    await open(false);
    const made = async (scope: string) => {
      const body = { name: scope, scopes: [scope] };
      const answer = await app.post("/user/settings/transport-token/create", { token, body });
      return by(String(answer.body["token"]));
    };
    const read = await made("READ_REGISTRY");
    expect(await statuses(read)).to.deep.equal(all(200));
    const writes = await app.put(base + file, { headers: read, body: "x" });
    expect(writes.body["code"]).to.equal("auth.scope_missing");
    const write = await made("WRITE_REGISTRY");
    expect(await statuses(write)).to.deep.equal(all(200));
    const done = await app.put(`${base}/generic/shown/2/a`, { headers: write, body: "x" });
    expect(done.status).to.equal(200);
  });
});
