import { createHash, randomBytes, randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";

/** What git-lfs never sends, or not with such a role: the operations by themselves. */
const app = await startTestApp();
const anna = await app.givenUser("anna");
const reader = await app.givenUser("reader");
const carla = await app.givenUser("carla");
const devon = await app.givenUser("devon");
await app.givenProject(anna, "art");
const lfs = "/project/anna/art.git/info/lfs";
const content = randomBytes(1_000);
const oid = createHash("sha256").update(content).digest("hex");
const size = content.length;

type Json = Readonly<Record<string, unknown>>;
type Lock = Readonly<{ id: string; path: string }>;

async function call(user: TestUser, method: string, at: string, body?: unknown) {
  const credentials = Buffer.from(`${user.alias}:${user.token}`).toString("base64");
  const bytes = body instanceof Uint8Array;
  const answer = await app.send(method, lfs + at, {
    headers: {
      authorization: `Basic ${credentials}`,
      "content-type": bytes ? "application/octet-stream" : "application/vnd.git-lfs+json",
    },
    ...(body === undefined ? {} : { body: bytes ? body : JSON.stringify(body) }),
  });
  const read: Json = answer.text.startsWith("{") ? JSON.parse(answer.text) : {};
  return { status: answer.status, body: read, text: answer.text };
}

async function lock(user: TestUser, path: string): Promise<Lock> {
  const { status, body, text } = await call(user, "POST", "/locks", { path });
  expect(status, text).to.equal(201);
  return body["lock"] as Lock;
}

const listed = async (query: string) =>
  ((await call(anna, "GET", `/locks?${query}`)).body["locks"] as Lock[]).map(({ path }) => path);

before(async () => {
  for (const [userAlias, role] of [
    ["reader", "REPORTER"],
    ["devon", "DEVELOPER"],
    ["carla", "ADMIN"],
  ]) {
    const body = { userAlias, role };
    const invited = await app.post("/project/anna/art/member/invite", { token: anna.token, body });
    expect(invited.status, invited.text).to.equal(200);
  }
  expect((await call(anna, "PUT", `/objects/${oid}/${size}`, content)).status).to.equal(200);
});

describe("who may only read", () => {
  it("gets objects and locks, and writes none of them", async () => {
    const { id } = await lock(anna, "kept.bin");
    const head = await app.head();
    const other = randomBytes(10);
    const otherOid = createHash("sha256").update(other).digest("hex");
    for (const [method, at, body] of [
      ["POST", "/objects/batch", { operation: "upload", objects: [{ oid, size }] }],
      ["PUT", `/objects/${otherOid}/10`, other],
      ["POST", "/objects/verify", { oid, size }],
      ["POST", "/locks", { path: "mine.bin" }],
      ["POST", "/locks/verify", {}],
      ["POST", `/locks/${id}/unlock`, {}],
      ["POST", `/locks/${id}/unlock`, { force: true }],
    ] as const) {
      const answer = await call(reader, method, at, body);
      expect([answer.status, answer.body["code"]], at).to.deep.equal([403, "auth.role_missing"]);
    }
    expect(await app.head()).to.equal(head);
    const wanted = { operation: "download", objects: [{ oid, size }] };
    expect((await call(reader, "POST", "/objects/batch", wanted)).status).to.equal(200);
    expect((await call(reader, "GET", "/locks")).status).to.equal(200);
    expect((await call(reader, "GET", `/objects/${oid}`)).text).to.have.length.above(0);
  });
});

describe("a batch", () => {
  const batch = (over: Json) =>
    call(anna, "POST", "/objects/batch", { operation: "download", objects: [], ...over });
  const first = async (operation: string, object: Json) => {
    const { body } = await batch({ operation, objects: [object] });
    const [{ error, ...rest } = {} as Json] = body["objects"] as Json[];
    const { actions } = rest;
    return { code: (error as Json | undefined)?.["code"], actions };
  };

  it("is refused for other hashes and transfers, and for more than any client requests", async () => {
    const many = Array.from({ length: 1_001 }, () => ({ oid, size }));
    for (const [over, status] of [
      [{ hash_algo: "sha512" }, 409],
      [{ transfers: ["ssh"] }, 422],
      [{ transfers: [] }, 422],
      [{ objects: many }, 422],
      [{ objects: [{ oid, size: -1 }] }, 422],
      [{ objects: [{ oid, size: 1.5 }] }, 422],
      [{ operation: "delete" }, 422],
    ] as const) {
      expect((await batch(over)).status, JSON.stringify(over).slice(0, 60)).to.equal(status);
    }
    const usual = { hash_algo: "sha256", transfers: ["tus", "basic"], objects: many.slice(1) };
    expect((await batch(usual)).status).to.equal(200);
  });

  for (const operation of ["download", "upload"]) {
    it(`says of each object why it is not there to ${operation}`, async () => {
      for (const wrong of ["x", oid.toUpperCase(), oid.slice(1), `../${oid}`]) {
        const { code, actions } = await first(operation, { oid: wrong, size });
        expect([code, actions], wrong).to.deep.equal([422, undefined]);
      }
      const { code } = await first(operation, { oid, size: size + 1 });
      expect(code).to.equal(422);
    });
  }

  it("verifies what is there by its size", async () => {
    expect((await call(anna, "POST", "/objects/verify", { oid, size })).status).to.equal(200);
    const { status, body } = await call(anna, "POST", "/objects/verify", { oid, size: size - 1 });
    expect([status, body["code"]]).to.deep.equal([422, "blob.size_mismatch"]);
  });
});

describe("a lock", () => {
  it("has an owner: others do not unlock it, and force is for administrators", async () => {
    const { id } = await lock(anna, "own.bin");
    for (const [who, force] of [
      [carla, false],
      [devon, false],
      [devon, true],
    ] as const) {
      const { status, body } = await call(who, "POST", `/locks/${id}/unlock`, { force });
      expect([status, body["code"]]).to.deep.equal([403, "lfs_lock.of_others"]);
    }
    expect((await call(carla, "POST", `/locks/${id}/unlock`, { force: true })).status).to.equal(
      200,
    );
    const { id: mine } = await lock(devon, "own.bin");
    expect((await call(devon, "POST", `/locks/${mine}/unlock`, { force: true })).status).to.equal(
      200,
    );
  });

  it("is found by id and path, where both fit", async () => {
    const { id } = await lock(anna, "found.bin");
    expect(await listed(`id=${id}`)).to.deep.equal(["found.bin"]);
    expect(await listed(`id=${id}&path=found.bin`)).to.deep.equal(["found.bin"]);
    expect(await listed(`id=${id}&path=other.bin`)).to.deep.equal([]);
    for (const wrong of [randomUUID(), "x", "'"]) {
      expect(await listed(`id=${wrong}`), wrong).to.deep.equal([]);
    }
  });
});
