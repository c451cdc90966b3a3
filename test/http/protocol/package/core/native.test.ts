import { createHash } from "node:crypto";
import { expect } from "chai";
import { startTestApp, type TestUser } from "../../../../support/app/app.ts";
import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { repositoriesAt } from "../../../../support/client/registry.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const root = await app.givenUser("root", { admin: true });
await app.givenProject(anna, "forge");
await app.givenProject(anna, "open", { private: false });
const at = repositoriesAt(app, "/project/anna/forge/repositories", anna.token);
const ofInstance = repositoriesAt(app, "/registry/instance/repositories", root.token);
const base = "/registry/project/anna/forge/repository";

const basic = ({ alias, token }: Pick<TestUser, "alias" | "token">) => ({
  authorization: basicAuth(alias, token),
});
const send = (method: string, path: string, headers: Record<string, string>, body?: string) =>
  fetch(app.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
const put = (path: string, body: string, headers: Record<string, string> = basic(anna)) =>
  send("PUT", path, headers, body);
const get = (path: string, headers: Record<string, string> = basic(anna)) =>
  send("GET", path, headers);
const held = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);

before(async () => {
  await at.local("files", "generic");
  await at.local("fixed", "generic", { packageReuploadType: "NONE" });
  await at.local("open", "generic", { hasAnonymousAccess: true });
  await at.local("loose", "generic", { isDeletePackageAllowed: true });
});

describe("a native path of a repository", () => {
  it("stores a file and answers it whole, in part, by tag and by head", async () => {
    const path = `${base}/files/tool/1.0+build 7/tool one.tgz`.replaceAll(" ", "%20");
    const stored = await put(path, "hello world");
    expect(stored.status, await stored.clone().text()).to.equal(201);
    const sha256 = createHash("sha256").update("hello world").digest("hex");
    expect(await stored.json()).to.include({ name: "tool", bytes: 11, sha256 });
    const whole = await get(path);
    expect(await whole.text()).to.equal("hello world");
    expect(whole.headers.get("content-disposition")).to.match(/^attachment/);
    expect(whole.headers.get("x-checksum-sha256")).to.equal(sha256);
    const part = await get(path, { ...basic(anna), range: "bytes=6-" });
    expect([part.status, await part.text()]).to.deep.equal([206, "world"]);
    const tag = whole.headers.get("etag") ?? "";
    expect((await get(path, { ...basic(anna), "if-none-match": tag })).status).to.equal(304);
    const head = await send("HEAD", path, basic(anna));
    expect([head.status, head.headers.get("content-length")]).to.deep.equal([200, "11"]);
    const list = await get(`${base}/files/tool/1.0+build%207/`);
    expect(await list.json()).to.deep.include({
      files: [{ name: "tool one.tgz", bytes: 11, sha256 }],
    });
    expect(await held()).to.equal(0);
  });

  it("has one address in what it answers, as its names are stored, however a request spells them", async () => {
    await app.givenProject(anna, "Mixed-Case");
    const shown = async (path: string) =>
      ((await (await get(`${path}/config.json`)).json()) as { api: string }).api;
    const mixed = repositoriesAt(app, "/project/anna/Mixed-Case/repositories", anna.token);
    await mixed.local("Crates", "cargo");
    await ofInstance.local("Crates", "cargo");
    const body = { title: "Acme", alias: "Acme", isPrivate: true };
    await app.post("/company", { token: anna.token, body });
    await repositoriesAt(app, "/company/acme/repositories", anna.token).local("Crates", "cargo");
    for (const [owner, stored] of [
      ["project/anna/Mixed-Case", "project/anna/Mixed-Case"],
      ["project/ANNA/mixed-case", "project/anna/Mixed-Case"],
      ["company/ACME", "company/Acme"],
      ["instance", "instance"],
    ]) {
      for (const name of ["Crates", "crates", "CRATES"]) {
        expect(await shown(`/registry/${owner}/repository/${name}`)).to.equal(
          `${app.url}/registry/${stored}/repository/Crates`,
        );
      }
    }
  });

  it("requires credentials whether or not there is such a repository", async () => {
    for (const path of [
      `${base}/files/tool/1/a`,
      `${base}/none/tool/1/a`,
      "/registry/project/no/no/repository/a/b/c/d",
    ]) {
      for (const headers of [{}, { authorization: "Bearer lfat_wrong" }]) {
        const answer = await get(path, headers);
        expect([answer.status, answer.headers.get("www-authenticate")], path).to.deep.equal([
          401,
          'Basic realm="registry", charset="UTF-8"',
        ]);
      }
    }
  });

  it("takes a token as Basic password, Bearer, token and bare", async () => {
    await put(`${base}/files/ways/1/a`, "a");
    const { token } = anna;
    for (const authorization of [`Bearer ${token}`, `token ${token}`, token]) {
      expect((await get(`${base}/files/ways/1/a`, { authorization })).status).to.equal(200);
    }
  });

  it("holds roles and scopes against each call", async () => {
    const path = `${base}/files/rights/1/a`;
    await put(path, "a");
    const reader = { alias: "anna", token: await app.givenToken(anna.id, ["READ_REGISTRY"]) };
    expect((await get(path, basic(reader))).status).to.equal(200);
    expect((await put(path, "b", basic(reader))).status).to.equal(403);
    const other = { alias: "anna", token: await app.givenToken(anna.id, ["PROJECT_WRITE"]) };
    expect((await get(path, basic(other))).status).to.equal(403);
    expect((await get(path, basic(bob))).status).to.equal(403);
    expect((await put(path, "b", basic(bob))).status).to.equal(403);
    expect(await (await get(path)).text()).to.equal("a");
    await ofInstance.local("shared", "generic");
    const shared = "/registry/instance/repository/shared/a/1/a";
    expect((await put(shared, "x", basic(bob))).status).to.equal(403);
    expect((await put(shared, "x", basic(root))).status).to.equal(201);
    expect((await get(shared, basic(bob))).status).to.equal(200);
  });

  it("is read without a token where the repository allows it, and never written", async () => {
    const path = `${base}/open/tool/1/a`;
    expect((await put(path, "a")).status).to.equal(201);
    expect(await (await get(path, {})).text()).to.equal("a");
    expect((await put(path, "b", {})).status).to.equal(401);
    expect((await get(path, basic(bob))).status, "with a token of a stranger").to.equal(200);
    expect((await put(path, "b", basic(bob))).status).to.equal(403);
    expect((await get(path, { authorization: "Bearer lfat_wrong" })).status).to.equal(401);
    const other = { alias: "bob", token: await app.givenToken(bob.id, ["PROJECT_WRITE"]) };
    expect((await get(path, basic(other))).status).to.equal(403);
    await put(`${base}/files/tool/2/a`, "a");
    expect((await get(`${base}/files/tool/2/a`, {})).status).to.equal(401);
  });

  it("keeps a file as it is where overwriting is off", async () => {
    const path = `${base}/fixed/tool/1/a`;
    expect((await put(path, "one")).status).to.equal(201);
    expect((await put(path, "one")).status, "the same again").to.equal(409);
    const refused = await put(path, "two");
    expect([refused.status, refused.statusText]).to.deep.equal([
      409,
      "The file a already exists, and files are not overwritten here.",
    ]);
    expect(await (await get(path)).text()).to.equal("one");
    const raced = await Promise.all(
      ["x", "y", "z"].map((body) => put(`${base}/fixed/r/1/a`, body)),
    );
    expect(raced.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409]);
    expect((await put(`${base}/files/tool/1/over`, "one")).status).to.equal(201);
    expect((await put(`${base}/files/tool/1/over`, "two")).status).to.equal(201);
    expect(await (await get(`${base}/files/tool/1/over`)).text()).to.equal("two");
    expect(await held()).to.equal(0);
  });

  it("refuses what does not match its digest, exists already or is nothing", async () => {
    const path = `${base}/files/checked/1/a`;
    const wrong = { ...basic(anna), "x-checksum-sha256": "0".repeat(64) };
    expect((await put(path, "a", wrong)).status).to.equal(422);
    expect((await get(path)).status).to.equal(404);
    const onlyNew = { ...basic(anna), "if-none-match": "*" };
    expect((await put(path, "a", onlyNew)).status).to.equal(201);
    expect((await put(path, "b", onlyNew)).status).to.equal(412);
    expect(await held()).to.equal(0);
  });

  it("leads nowhere by odd names", async () => {
    const head = await app.head();
    for (const odd of ["..%2f..%2fetc", "%2e%2e", "a%2fb", "a%5cb", "a%00b", "%", "a%0ab"]) {
      for (const path of [`${odd}/1/a`, `a/${odd}/a`, `a/1/${odd}`]) {
        const { status } = await put(`${base}/files/${path}`, "x");
        expect(status, path).to.be.oneOf([400, 404, 405, 422]);
      }
    }
    expect(await app.head()).to.equal(head);
  });

  it("takes files without bytes, which are files", async () => {
    const path = `${base}/files/empty/1/a`;
    expect((await put(path, "")).status).to.equal(201);
    const found = await get(path);
    expect([found.status, found.headers.get("content-length"), await found.text()]).to.deep.equal([
      ...[200, "0", ""],
    ]);
    const list = (await (await get(`${base}/files/empty/1`)).json()) as { files: object[] };
    expect(list.files).to.containSubset([{ name: "a", bytes: 0 }]);
    expect(await held()).to.equal(0);
  });

  it("deletes a file where the repository allows it, and with its last file the version", async () => {
    for (const name of ["a", "b"]) await put(`${base}/loose/parts/1/${name}`, name);
    const remove = (path: string, as = anna) => send("DELETE", path, basic(as));
    expect((await remove(`${base}/loose/parts/1/none`)).status).to.equal(404);
    expect((await remove(`${base}/loose/parts/1/a`, bob)).status).to.equal(403);
    expect((await remove(`${base}/loose/parts/1/a`)).status).to.equal(204);
    expect((await get(`${base}/loose/parts/1/a`)).status).to.equal(404);
    expect(await (await get(`${base}/loose/parts/1/b`)).text()).to.equal("b");
    expect((await remove(`${base}/loose/parts/1/a`)).status).to.equal(404);
    expect((await put(`${base}/loose/parts/1/a`, "again")).status).to.equal(201);
    expect((await remove(`${base}/loose/parts/1/a`)).status).to.equal(204);
    expect((await remove(`${base}/loose/parts/1/b`)).status).to.equal(204);
    expect((await get(`${base}/loose/parts/1`)).status).to.equal(404);
    await put(`${base}/files/kept/1/b`, "b");
    const refused = await remove(`${base}/files/kept/1/b`);
    expect([refused.status, await refused.text()]).to.deep.equal([
      405,
      "Packages of this repository may not be deleted.\n",
    ]);
    expect((await get(`${base}/files/kept/1/b`)).status).to.equal(200);
  });

  it("names HEAD among the methods of a path that is read", async () => {
    const answer = await send("POST", `${base}/files/tool/1/a`, basic(anna));
    expect(answer.status).to.equal(405);
    expect(answer.headers.get("allow")?.split(", ").sort()).to.deep.equal([
      ...["DELETE", "GET", "HEAD", "PUT"],
    ]);
  });

  it("deletes a version where the repository allows it", async () => {
    await put(`${base}/loose/tool/1/a`, "a");
    const remove = (path: string) => send("DELETE", path, basic(anna));
    expect((await remove(`${base}/loose/tool/1`)).status).to.equal(204);
    expect((await get(`${base}/loose/tool/1/a`)).status).to.equal(404);
    expect((await put(`${base}/loose/tool/1/b`, "b")).status, "begun anew").to.equal(201);
    expect((await get(`${base}/loose/tool/1/a`)).status, "what it had before").to.equal(404);
    await put(`${base}/files/kept/1/a`, "a");
    expect((await remove(`${base}/files/kept/1`)).status).to.equal(405);
    expect((await get(`${base}/files/kept/1/a`)).status).to.equal(200);
  });

  it("says where images are instead", async () => {
    await at.proxy("far", "container", { url: "https://registry.example.org/" });
    const answer = await get(`${base}/far/index.json`);
    expect([answer.status, answer.statusText]).to.deep.equal([
      404,
      "Images are read and stored at /v2/.",
    ]);
  });
});

describe("a virtual repository", () => {
  it("shows its members in order and stores in its deployment repository", async () => {
    const one = await at.local("v-one", "generic");
    const two = await at.local("v-two", "generic");
    const includedRepositoryUuids = [two.repositoryUuid, one.repositoryUuid];
    const virtual = await at.virtual("v-all", "generic", { includedRepositoryUuids });
    const refused = await put(`${base}/v-all/tool/1/a`, "x");
    expect(refused.status).to.equal(405);
    await at.change(virtual.repositoryUuid, {
      type: "VIRTUAL",
      virtualSettings: { deploymentRepositoryUuid: one.repositoryUuid },
    });
    expect((await put(`${base}/v-all/tool/1/a`, "stored")).status).to.equal(201);
    expect(await (await get(`${base}/v-one/tool/1/a`)).text()).to.equal("stored");
    expect(await (await get(`${base}/v-all/tool/1/a`)).text()).to.equal("stored");
    await put(`${base}/v-two/tool/1/a`, "first member");
    expect(await (await get(`${base}/v-all/tool/1/a`)).text()).to.equal("first member");
    await put(`${base}/v-one/tool/2/only`, "in one");
    expect(await (await get(`${base}/v-all/tool/2/only`)).text()).to.equal("in one");
  });

  it("gives nothing to callers without a token, though a member is open", async () => {
    const open = await at.local("v-open", "generic", { hasAnonymousAccess: true });
    await at.virtual("v-closed", "generic", { includedRepositoryUuids: [open.repositoryUuid] });
    await put(`${base}/v-open/tool/1/a`, "a");
    expect((await get(`${base}/v-open/tool/1/a`, {})).status).to.equal(200);
    expect((await get(`${base}/v-closed/tool/1/a`, {})).status).to.equal(401);
  });
});

describe("a repository that is deleted", () => {
  it("takes its packages along", async () => {
    const { repositoryUuid } = await at.local("gone", "generic");
    await put(`${base}/gone/tool/1/a`, "a");
    expect((await at.remove(repositoryUuid)).status).to.equal(204);
    expect((await get(`${base}/gone/tool/1/a`)).status).to.equal(404);
    const rows = await app.deps.db("package").where("registry_id", repositoryUuid);
    expect(rows).to.deep.equal([]);
    await at.local("gone", "generic");
    expect((await get(`${base}/gone/tool/1/a`)).status).to.equal(404);
  });
});
