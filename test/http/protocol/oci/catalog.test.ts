import { createHash } from "node:crypto";
import { expect } from "chai";

import { listCatalog } from "../../../../src/projections/registry/image-catalog.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
await app.givenProject(anna, "Forge", { private: false });
const secret = await app.givenProject(anna, "secret", { private: true });
const config = "{}";
const digest = `sha256:${createHash("sha256").update(config).digest("hex")}`;
const imageType = "application/vnd.oci.image.manifest.v1+json";

async function pushed(user: TestUser, name: string): Promise<void> {
  const headers = { authorization: basicAuth(user.alias, user.token) };
  const sent = async (method: string, path: string, body: string) => {
    const type = { "content-type": imageType };
    const url = `${app.url}/v2/${name}/${path}`;
    const answer = await fetch(url, { method, headers: { ...headers, ...type }, body });
    expect(answer.status, await answer.text()).to.equal(201);
  };
  await sent("POST", `blobs/uploads/?digest=${digest}`, config);
  const mediaType = "application/vnd.oci.image.config.v1+json";
  const described = { mediaType, digest, size: config.length };
  const manifest = { schemaVersion: 2, mediaType: imageType, config: described, layers: [] };
  await sent("PUT", "manifests/1", JSON.stringify(manifest));
}

type Listed = Readonly<{ status: number; names: readonly string[]; link: string | null }>;

async function listed(authorization: string | undefined, path = "/v2/_catalog"): Promise<Listed> {
  const headers = authorization === undefined ? {} : { authorization };
  const answer = await fetch(app.url + path, { headers });
  const { repositories = [] } = (await answer.json()) as { repositories?: string[] };
  return { status: answer.status, names: repositories, link: answer.headers.get("link") };
}
const basic = ({ alias, token }: TestUser) => basicAuth(alias, token);

async function bearer(scope: string, authorization?: string): Promise<string> {
  const url = `${app.url}/v2/token?scope=${encodeURIComponent(scope)}`;
  const headers = authorization === undefined ? {} : { authorization };
  const { token } = (await (await fetch(url, { headers })).json()) as { token: string };
  return `Bearer ${token}`;
}
const scope = "registry:catalog:*";
const open = ["anna/forge/open/app", "anna/forge/open/base/debian"];
const closed = [...open, "anna/forge/open-2/app"];
const annas = [...closed, "anna/secret/images/app"];

describe("the list of images", () => {
  before(async () => {
    const forge = repositoriesAt(app, "/project/anna/Forge/repositories", anna.token);
    const own = repositoriesAt(app, "/project/anna/secret/repositories", anna.token);
    await forge.local("Open", "container", {
      hasAnonymousAccess: true,
      isDeletePackageAllowed: true,
    });
    await forge.local("open-2", "container");
    await own.local("images", "container");
    await forge.local("npm", "npm");
    for (const name of annas) await pushed(anna, name);
  });

  it("holds what the caller may read, in the order of its parts", async () => {
    expect(await listed(basic(anna))).to.deep.equal({ status: 200, names: annas, link: null });
    expect((await listed(basic(bob))).names).to.deep.equal(closed);
    expect((await listed(basic(root))).names, "the flag gives no role").to.deep.equal(closed);
  });

  it("requires a token, which opens nothing else", async () => {
    const answer = await fetch(`${app.url}/v2/_catalog`);
    expect(answer.status).to.equal(401);
    expect(answer.headers.get("www-authenticate")).to.contain(`scope="${scope}"`);
    const token = await bearer(scope, basic(anna));
    expect((await listed(token)).names).to.deep.equal(annas);
    const tags = await fetch(`${app.url}/v2/${open[0]}/tags/list`, {
      headers: { authorization: token },
    });
    expect(tags.status).to.equal(401);
    const other = await bearer(`repository:${open[0]}:pull`, basic(anna));
    expect((await listed(other)).status).to.equal(401);
  });

  it("holds what is open for callers without an account", async () => {
    expect((await listed(await bearer(scope))).names).to.deep.equal(open);
  });

  it("is refused to tokens without a scope of packages", async () => {
    const token = await app.givenToken(anna.id, ["PROJECT_READ"]);
    expect((await listed(basicAuth("anna", token))).status).to.equal(403);
    expect((await listed(await bearer(scope, basicAuth("anna", token)))).status).to.equal(401);
  });

  it("comes a page at a time", async () => {
    const names: string[] = [];
    let next: string | undefined = "/v2/_catalog?n=1";
    while (next !== undefined) {
      const page = await listed(basic(anna), next);
      expect(page.names).to.have.lengthOf(1);
      names.push(...page.names);
      next = /^<([^>]+)>; rel="next"$/.exec(page.link ?? "")?.[1];
    }
    expect(names).to.deep.equal(annas);
    const behind = async (last: string) =>
      (await listed(basic(anna), `/v2/_catalog?last=${encodeURIComponent(last)}`)).names;
    expect(await behind("anna/forge/open/b")).to.deep.equal(annas.slice(1));
    expect(await behind("anna/g")).to.deep.equal(annas.slice(3));
    expect(await behind("../../etc'\"%_\\")).to.deep.equal(annas);
  });

  it("refuses what is no page", async () => {
    for (const query of ["n=-1", "n=x", "n=1e3", `n=${"9".repeat(10)}`]) {
      expect((await listed(basic(anna), `/v2/_catalog?${query}`)).status, query).to.equal(400);
    }
    expect((await listed(basic(anna), "/v2/_catalog?last=%00")).status).to.equal(422);
    const long = `/v2/_catalog?last=${"a".repeat(300)}`;
    expect((await listed(basic(anna), long)).status).to.equal(400);
    expect((await listed(basic(anna), "/v2/_catalog?n=0")).names).to.deep.equal([]);
    const authorization = basic(anna);
    const wrong = await fetch(`${app.url}/v2/_catalog`, {
      method: "POST",
      headers: { authorization },
    });
    expect(wrong.status).to.equal(405);
  });

  it("holds images of companies and of the instance for those who may read them", async () => {
    const company = { title: "Acme", alias: "acme", isPrivate: true };
    const made = await app.post("/company", { token: bob.token, body: company });
    expect(made.status, made.text).to.be.oneOf([200, 201]);
    await repositoriesAt(app, "/company/acme/repositories", bob.token).local("own", "container");
    await pushed(bob, "company/acme/own/app");
    const instance = repositoriesAt(app, "/registry/instance/repositories", root.token);
    await instance.local("shared", "container");
    await pushed(root, "instance/shared/app");
    const shared = "instance/shared/app";
    const bobs = [...closed, "company/acme/own/app", shared];
    expect((await listed(basic(bob))).names).to.deep.equal(bobs);
    expect((await listed(basic(anna))).names).to.deep.equal([...annas, shared]);
    expect((await listed(await bearer(scope))).names).to.deep.equal(open);
  });

  it("holds images of its project alone for the token of a job", async () => {
    const page = { after: { path: "", image: "" }, limit: 10 };
    for (const userId of [anna.id, null]) {
      const found = await listCatalog(app.deps.db, { userId, projectId: secret.id }, page);
      expect(found).to.deep.equal([{ path: "anna/secret/images", image: "app" }]);
    }
    const bobs = await listCatalog(app.deps.db, { userId: bob.id, projectId: secret.id }, page);
    expect(bobs).to.deep.equal([]);
  });

  it("does not hold an image without manifests", async () => {
    const headers = { authorization: basic(anna) };
    const at = `${app.url}/v2/anna/forge/open/app/manifests`;
    const { headers: found } = await fetch(`${at}/1`, { method: "HEAD", headers });
    const deleted = `${at}/${found.get("docker-content-digest")}`;
    expect((await fetch(deleted, { method: "DELETE", headers })).status).to.equal(202);
    expect((await listed(await bearer(scope))).names).to.deep.equal(open.slice(1));
  });

  it("holds an open image of a private project for every user", async () => {
    const own = repositoriesAt(app, "/project/anna/secret/repositories", anna.token);
    await own.local("shown", "container", { hasAnonymousAccess: true });
    await pushed(anna, "anna/secret/shown/app");
    for (const authorization of [basic(bob), await bearer(scope)]) {
      const { names } = await listed(authorization);
      expect(names.filter((name) => name.startsWith("anna/secret/"))).to.deep.equal([
        "anna/secret/shown/app",
      ]);
    }
  });

  it("reads no more images than a page needs, however many repositories there are", async () => {
    const { db } = app.deps;
    const [of, images] = [{ id: secret.id, count: 200 }, { count: 20 }];
    await db.raw(
      `insert into registry_repository
         (id, owner_type, owner_id, name, package_type, settings, created_at)
       select gen_random_uuid(), 'PROJECT', :id, 'many-' || number, 'container',
         '{"type":"LOCAL","hasAnonymousAccess":false}', now()
       from generate_series(1, :count) as number`,
      of,
    );
    await db.raw(
      `insert into package (id, registry_id, type, name, group_id, artifact_id, is_live)
       select gen_random_uuid(), place.id::text, 'container', 'image-' || number, '', '', true
       from registry_repository as place, generate_series(1, :count) as number
       where place.name like 'many-%'`,
      images,
    );
    const limit = 10;
    const queries: Readonly<{ sql: string; bindings: string[] }>[] = [];
    const note = (query: (typeof queries)[number]) => void queries.push(query);
    db.on("query", note);
    const reader = { userId: anna.id, projectId: undefined };
    const after = { path: "anna/secret/many", image: "" };
    expect(await listCatalog(db, reader, { after, limit })).to.have.lengthOf(limit);
    db.removeListener("query", note);
    const query = queries.find(({ sql }) => sql.includes("cross join lateral"));
    const plan = await db.raw(
      `explain (analyze) ${query?.sql.replace(/\$\d+/g, "?")}`,
      query?.bindings ?? [],
    );
    const lines: readonly string[] = plan.rows.map((row: object) => Object.values(row)[0]);
    const found = lines
      .filter((line) => /^\W*Limit /.test(line))
      .map((line) => {
        const [, rows, loops] = /actual .*rows=([\d.]+) loops=(\d+)/.exec(line) ?? [];
        return Number(rows) * Number(loops);
      });
    expect(found.length).to.be.greaterThan(1);
    expect(found.reduce((sum, rows) => sum + rows)).to.be.lessThan(3 * limit + limit ** 2);
  });
});
