import { createHash, randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { request } from "node:http";
import path from "node:path";
import { expect } from "chai";
import { lfsTokens } from "../../src/platform/key/lfs-token.ts";
import { startTestApp, type TestUser } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";

/**
 * Knowing an object's id gives neither its content nor a share in it, bytes are what their id says, and
 * nobody's lock is opened from another project or without the right.
 */
const app = await startTestApp();
const anna = await app.givenUser("anna");
const eve = await app.givenUser("eve");
const reader = await app.givenUser("reader");
const hidden = await app.givenProject(anna, "hidden");
await app.givenProject(anna, "open", { private: false });
await app.givenProject(eve, "own");

const lfs = (project = "hidden", owner = "anna") => `/project/${owner}/${project}.git/info/lfs`;
const json = "application/vnd.git-lfs+json";
const basic = ({ alias, token }: Pick<TestUser, "alias" | "token">) => basicAuth(alias, token);
const content = randomBytes(1_000);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const oid = sha256(content);

async function call(method: string, at: string, as: string | undefined, body?: unknown) {
  const bytes = body instanceof Uint8Array;
  const answer = await app.send(method, at, {
    headers: {
      ...(as === undefined ? {} : { authorization: as }),
      "content-type": bytes ? "application/octet-stream" : json,
    },
    ...(body === undefined ? {} : { body: bytes ? body : JSON.stringify(body) }),
  });
  return { ...answer, body: answer.text.startsWith("{") ? JSON.parse(answer.text) : {} };
}

const put = (at: string, as: string, bytes: Uint8Array, named = sha256(bytes)) =>
  call("PUT", `${at}/objects/${named}/${bytes.length}`, as, bytes);
const batch = (operation: string, at: string, as: string | undefined) =>
  call("POST", `${at}/objects/batch`, as, { operation, objects: [{ oid, size: content.length }] });
const stored = (project: string) => app.deps.db("lfs_object").where({ project_id: project });

before(async () => {
  const answer = await put(lfs(), basic(anna), content);
  expect(answer.status, answer.text).to.equal(200);
  await app.post("/project/anna/hidden/member/invite", {
    token: anna.token,
    body: { userAlias: "reader", role: "REPORTER" },
  });
});

describe("an object of another project", () => {
  it("is not found by its id, and not counted as there", async () => {
    const mine = lfs("own", "eve");
    const download = await batch("download", mine, basic(eve));
    expect(download.body.objects[0].error.code).to.equal(404);
    expect((await call("GET", `${mine}/objects/${oid}`, basic(eve))).status).to.equal(404);
    const size = content.length;
    expect(
      (await call("POST", `${mine}/objects/verify`, basic(eve), { oid, size })).status,
    ).to.equal(404);
    const upload = await batch("upload", mine, basic(eve));
    expect(upload.body.objects[0].actions, "its bytes are asked for").to.have.property("upload");
  });

  it("becomes one's own by its bytes alone", async () => {
    const mine = lfs("own", "eve");
    const claimed = await put(mine, basic(eve), randomBytes(content.length), oid);
    expect([claimed.status, claimed.body.code]).to.deep.equal([422, "blob.digest_mismatch"]);
    const empty = await call("PUT", `${mine}/objects/${oid}/0`, basic(eve), new Uint8Array());
    expect(empty.status).to.equal(422);
    expect((await call("GET", `${mine}/objects/${oid}`, basic(eve))).status).to.equal(404);
    expect((await put(mine, basic(eve), content)).status).to.equal(200);
    expect((await call("GET", `${mine}/objects/${oid}`, basic(eve))).status).to.equal(200);
  });

  it("is closed to who may not see the project, token or not", async () => {
    for (const operation of ["download", "upload"]) {
      expect((await batch(operation, lfs(), basic(eve))).status).to.equal(403);
      const anonymous = await batch(operation, lfs(), undefined);
      expect(anonymous.status).to.equal(401);
      expect(anonymous.headers.get("lfs-authenticate")).to.match(/^Basic /);
    }
    expect((await call("GET", `${lfs()}/objects/${oid}`, undefined)).status).to.equal(401);
  });
});

describe("bytes that are not what their id says", () => {
  it("change nothing, also when the object is there", async () => {
    const head = await app.head();
    const other = randomBytes(content.length);
    for (const [bytes, named] of [
      [other, oid],
      [content.subarray(1), oid],
      [Buffer.concat([content, other]), oid],
      [content, sha256(other)],
    ] as const) {
      const answer = await put(lfs(), basic(anna), bytes, named);
      expect(answer.status, answer.text).to.equal(422);
    }
    const read = await fetch(`${app.url}${lfs()}/objects/${oid}`, {
      headers: { authorization: basic(anna) },
    });
    expect(sha256(new Uint8Array(await read.arrayBuffer()))).to.equal(oid);
    expect(await app.head()).to.equal(head);
  });

  it("longer or shorter than announced, or over the limit, are not kept", async () => {
    const bytes = randomBytes(500);
    for (const size of [499, 501, app.deps.config.lfsObjectBytesMax + 1]) {
      const answer = await call(
        "PUT",
        `${lfs()}/objects/${sha256(bytes)}/${size}`,
        basic(anna),
        bytes,
      );
      expect([413, 422], `${size}: ${answer.text}`).to.include(answer.status);
    }
    const over = { oid: sha256(bytes), size: app.deps.config.lfsObjectBytesMax + 1 };
    const answered = await call("POST", `${lfs()}/objects/batch`, basic(anna), {
      operation: "upload",
      objects: [over],
    });
    expect(answered.body.objects[0].error.code).to.equal(422);
    const spool = path.join(app.dataDir, "blobs", "temporary");
    await eventually(async () => (await readdir(spool)).length === 0);
    expect(await stored(hidden.id)).to.have.length(1);
  });

  it("that break off leave nothing", async () => {
    const bytes = randomBytes(100_000);
    const { hostname, port } = new URL(app.url);
    const sending = request({
      hostname,
      port,
      method: "PUT",
      path: `${lfs()}/objects/${sha256(bytes)}/${bytes.length}`,
      headers: { authorization: basic(anna), "content-length": bytes.length },
    });
    sending.on("error", () => undefined);
    sending.write(bytes.subarray(0, 50_000));
    const spool = path.join(app.dataDir, "blobs", "temporary");
    await eventually(async () => (await readdir(spool)).length > 0);
    sending.destroy();
    await eventually(async () => (await readdir(spool)).length === 0);
    expect(await stored(hidden.id)).to.have.length(1);
  });
});

describe("a short-lived token", () => {
  const granted = async (operation: "download" | "upload", as = anna) => {
    const { body } = await call("POST", `${lfs()}/objects/batch`, basic(as), {
      operation,
      objects: [{ oid: operation === "download" ? oid : "a".repeat(64), size: content.length }],
    });
    return String(body.objects[0].actions[operation].header.Authorization);
  };

  it("opens the operation and the project it was given for", async () => {
    const download = await granted("download");
    expect((await call("GET", `${lfs()}/objects/${oid}`, download)).status).to.equal(200);
    expect((await put(lfs(), download, randomBytes(10))).status).to.equal(401);
    expect((await call("GET", `${lfs("open")}/objects/${oid}`, download)).status).to.equal(401);
    expect((await call("GET", "/project/anna/hidden", download)).status).to.equal(403);
    const upload = await granted("upload");
    expect((await put(lfs(), upload, randomBytes(10))).status).to.equal(200);
  });

  it("is no more than its user is by now", async () => {
    const mine = await granted("download", reader);
    expect((await call("GET", `${lfs()}/objects/${oid}`, mine)).status).to.equal(200);
    await app.delete("/project/anna/hidden/member/reader", { token: anna.token });
    await eventually(
      async () => (await call("GET", `${lfs()}/objects/${oid}`, mine)).status === 403,
    );
    const ours = await granted("download");
    await app.deps.db("app_user").where({ id: anna.id }).update({ banned_at: new Date() });
    expect((await call("GET", `${lfs()}/objects/${oid}`, ours)).status).to.equal(401);
    await app.deps.db("app_user").where({ id: anna.id }).update({ banned_at: null });
  });

  it("ends, and is nobody's to make", async () => {
    const past = lfsTokens(app.deps.vault, () => new Date(Date.now() - 60 * 60_000));
    const grant = { userId: anna.id, alias: "anna", projectId: hidden.id, keyId: null };
    const { token } = past.issue({ ...grant, operation: "download" });
    for (const wrong of [token, "lflt_x.y", `${token}x`]) {
      const answer = await call("GET", `${lfs()}/objects/${oid}`, `Bearer ${wrong}`);
      expect(answer.status, wrong).to.equal(401);
    }
  });
});

describe("a lock", () => {
  let id: string;
  before(async () => {
    const made = await call("POST", `${lfs()}/locks`, basic(anna), { path: "a.bin" });
    expect(made.status, made.text).to.equal(201);
    id = made.body.lock.id;
  });

  it("is not unlocked from another project, by any user", async () => {
    for (const [at, who] of [
      [lfs("own", "eve"), eve],
      [lfs("open"), anna],
    ] as const) {
      for (const force of [false, true]) {
        const answer = await call("POST", `${at}/locks/${id}/unlock`, basic(who), { force });
        expect([answer.status, answer.body.code]).to.deep.equal([404, "lfs_lock.not_found"]);
      }
      const listed = await call("GET", `${at}/locks?id=${id}`, basic(who));
      expect(listed.body.locks).to.deep.equal([]);
    }
    expect((await call("GET", `${lfs()}/locks`, basic(eve))).status).to.equal(403);
    expect((await call("GET", `${lfs()}/locks`, basic(anna))).body.locks).to.have.length(1);
  });

  it("has nothing under an id that is none", async () => {
    for (const wrong of ["x", "..", "%2e%2e", "a".repeat(200), `${id}'`]) {
      const answer = await call("POST", `${lfs()}/locks/${wrong}/unlock`, basic(anna), {});
      expect(answer.status, wrong).to.equal(404);
    }
  });
});

describe("a short-lived token of git-lfs", () => {
  type Signed = Readonly<{ header: { Authorization: string }; expires_in: number }>;
  const signed = async (as: string): Promise<Signed> => {
    const answer = await batch("download", lfs(), as);
    expect(answer.status, answer.text).to.equal(200);
    return answer.body.objects[0].actions.download;
  };
  const opens = async ({ header }: Signed) =>
    (await call("GET", `${lfs()}/objects/${oid}`, header.Authorization)).status;

  it("does not renew itself: what it requests ends with it", async () => {
    const { id: projectId } = hidden;
    const fourteenMinutesAgo = new Date(Date.now() - 14 * 60_000);
    const earlier = lfsTokens(app.platform.vault, () => fourteenMinutesAgo);
    const row = await app.deps.db("app_user").where({ id: anna.id }).first("password_hash");
    const { token } = earlier.issue({
      ...{ userId: anna.id, alias: "anna", projectId, operation: "download", keyId: null },
      passwordMark: earlier.passwordMark(row?.["password_hash"]),
    });
    const renewed = await signed(`Bearer ${token}`);
    expect(renewed.expires_in).to.be.within(1, 60);
    expect(await opens(renewed)).to.equal(200);
  });

  it("ends when the password that requested it changes", async () => {
    const dora = await app.givenUser("dora");
    await app.post("/project/anna/hidden/member/invite", {
      token: anna.token,
      body: { userAlias: "dora", role: "GUEST" },
    });
    const before = await signed(basic({ alias: "dora", token: dora.password }));
    expect(await opens(before)).to.equal(200);
    const password = "another long password";
    const changed = await app.put("/user/change-password", {
      token: dora.token,
      body: { oldPassword: dora.password, password, passwordConfirm: password },
    });
    expect(changed.status).to.equal(200);
    expect(await opens(before)).to.equal(401);
  });

  it("ends when the access token that requested it expires", async () => {
    for (const seconds of [3, 9, 27]) {
      const endsAt = Date.now() + seconds * 1_000;
      const until = new Date(endsAt).toISOString();
      const token = await app.givenToken(anna.id, ["PROJECT_READ"], until);
      const answer = await batch("download", lfs(), basic({ alias: "anna", token }));
      const status =
        answer.status === 200 && (await opens(answer.body.objects[0].actions.download));
      // On a busy machine it may end before it was used.
      if (Date.now() >= endsAt && seconds < 27) continue;
      expect(status, answer.text).to.equal(200);
      const before: Signed = answer.body.objects[0].actions.download;
      await eventually(async () => (await opens(before)) === 401, (seconds + 10) * 1_000);
      break;
    }
  });
});
