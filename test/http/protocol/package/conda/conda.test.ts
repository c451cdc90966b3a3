import { createHash } from "node:crypto";
import { expect } from "chai";
import { decompress } from "fzstd";
import { rawZstdFrame } from "../../../../../src/platform/zstd-frame.ts";
import { startTestApp } from "../../../../support/app/app.ts";
import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { expectRefusal, repositoriesAt } from "../../../../support/client/registry.ts";
import { conda } from "../../../../support/git/archive.ts";
import { condaTarBz2 } from "../../../../support/package/conda-tar-bz2.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
await app.givenProject(anna, "forge");
const path = "/project/anna/forge/repositories";
const at = repositoriesAt(app, path, anna.token);
const { token } = anna;

const tool = { name: "tool", version: "1.0", build: "py_0", subdir: "linux-64" };
const name = "tool-1.0-py_0.conda";

describe("a package of conda", () => {
  it("is stored under its platform and downloaded from there", async () => {
    const { repositoryUuid: id } = await at.local("main", "conda");
    const content = conda(tool);
    const stored = await app.put(`${path}/${id}/conda/${name}`, { token, body: content });
    expect(stored.status, stored.text).to.equal(200);
    expect(stored.body).to.include({ version: "1.0" });
    for (const nodePath of ["main/linux-64", `linux-64/${name}`, "/linux-64/"]) {
      const again = `${path}/${id}/conda/${name}?nodePath=${encodeURIComponent(nodePath)}`;
      expect((await app.put(again, { token, body: content })).status, nodePath).to.equal(200);
    }
    const url = `${app.url}${path}/${id}/conda`;
    const headers = { authorization: `token ${token}` };
    const answer = await fetch(`${url}/linux-64/${name}`, { headers });
    expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(content);
    expect((await fetch(`${url}/noarch/${name}`, { headers })).status).to.equal(404);
  });

  it("is refused when it is not what its path says", async () => {
    const { repositoryUuid: id } = await at.local("strict", "conda");
    const head = await app.head();
    const put = (file: string, body: Buffer, nodePath = "") =>
      app.put(`${path}/${id}/conda/${file}?nodePath=${nodePath}`, { token, body });
    expectRefusal(await put("other-1.0-py_0.conda", conda(tool)), 422, "package.file_mismatch");
    expectRefusal(await put(name, conda(tool), "osx-arm64"), 422, "package.file_mismatch");
    expectRefusal(await put(name, conda(tool), "nowhere"), 422, "package.name_invalid");
    expectRefusal(await put("tool.tar.bz2", conda(tool)), 422, "package.name_invalid");
    expectRefusal(await put("tool-1.0-py_0.tar.bz2", conda(tool)), 422, "package.file_malformed");
    expectRefusal(await put(name, Buffer.from("x")), 422, "package.file_malformed");
    const escaping = conda({ ...tool, subdir: "../../etc" });
    expectRefusal(await put(name, escaping), 422, "package.file_malformed");
    expect(await app.head()).to.equal(head);
  });

  it("needs a local repository: 405 without one for deployment, 409 where it may not be replaced", async () => {
    const fixed = await at.local("fixed", "conda", { packageReuploadType: "NONE" });
    const virtual = await at.virtual("all", "conda", {
      includedRepositoryUuids: [fixed.repositoryUuid],
    });
    const put = (id: string, body: Buffer) =>
      app.put(`${path}/${id}/conda/${name}`, { token, body });
    const refused = await put(virtual.repositoryUuid, conda(tool));
    expectRefusal(refused, 405, "registry.no_deployment_repository");
    const virtualSettings = { deploymentRepositoryUuid: fixed.repositoryUuid };
    await at.change(virtual.repositoryUuid, { type: "VIRTUAL", virtualSettings });
    expect((await put(virtual.repositoryUuid, conda(tool))).status).to.equal(200);
    const other = conda({ ...tool, license: "MIT" });
    expectRefusal(await put(fixed.repositoryUuid, other), 409, "package_file.exists");
    const npm = await at.local("npm", "npm");
    const wrong = await put(npm.repositoryUuid, conda(tool));
    expectRefusal(wrong, 404, "registry_repository.not_found");
  });
});

describe("the download of a package over REST", () => {
  const company = "/company/acme/repositories";
  before(() =>
    app.post("/company", { token, body: { title: "Acme", alias: "acme", isPrivate: true } }),
  );

  for (const base of [path, company]) {
    it(`is for everybody where the repository is open, at ${base}`, async () => {
      const bob = await app.givenUser(`bob-${base.split("/")[1]}`);
      const own = repositoriesAt(app, base, token);
      const { repositoryUuid: id } = await own.local("open", "conda");
      await app.put(`${base}/${id}/conda/${name}`, { token, body: conda(tool) });
      const at = `${base}/${id}/conda/linux-64/${name}`;
      const statuses = async () => [
        (await app.get(at)).status,
        (await app.get(at, { token: bob.token })).status,
        (await app.get(at, { token: "lfat_wrong" })).status,
      ];
      expect(await statuses()).to.deep.equal([403, 403, 403]);
      await own.change(id, { type: "LOCAL", settings: { hasAnonymousAccess: true } });
      expect(await statuses()).to.deep.equal([200, 200, 403]);
      const noRead = await app.givenToken(bob.id, ["PROJECT_WRITE"]);
      expectRefusal(await app.get(at, { token: noRead }), 403, "auth.scope_missing");
      expect((await app.get(`${base}/${id}`)).status, "the repository itself").to.equal(403);
      const put = await app.put(`${base}/${id}/conda/${name}`, { body: conda(tool) });
      expectRefusal(put, 403, "auth.token_invalid");
      const elsewhere = base === path ? company : path;
      const wrong = await app.get(`${elsewhere}/${id}/conda/linux-64/${name}`);
      expectRefusal(wrong, 403, "auth.token_invalid");
    });
  }
});

describe("a channel of conda", () => {
  const base = `${app.url}/registry/project/anna/forge/repository/channel`;
  const headers = { authorization: basicAuth("anna", token) };
  const get = (at: string) => fetch(`${base}/${at}`, { headers });
  const put = (at: string, content: Buffer) =>
    fetch(`${base}/${at}`, { method: "PUT", headers, body: new Uint8Array(content) });
  const repodata = async (subdir: string) => (await get(`${subdir}/repodata.json`)).json();

  before(() =>
    at.local("channel", "conda", { packageReuploadType: "NONE", isDeletePackageAllowed: true }),
  );

  it("lists its packages by platform, and empty platforms too", async () => {
    const record = {
      ...{ ...tool, build_number: 2, depends: ["python >=3.9"], license: "MIT" },
      track_features: ["mkl"],
      // Clients that link packages for any platform of Python need its place.
      python_site_packages_path: "lib/python3.13t/site-packages",
      purls: ["pkg:pypi/tool@1.0"],
      extra_depends: { test: ["pytest"] },
      flags: ["cuda"],
    };
    const content = conda({ ...record, secret: "not shown" });
    expect((await put(`linux-64/${name}`, content)).status).to.equal(201);
    const md5 = createHash("md5").update(content).digest("hex");
    const sha256 = createHash("sha256").update(content).digest("hex");
    expect(await repodata("linux-64")).to.deep.equal({
      info: { subdir: "linux-64" },
      packages: {},
      "packages.conda": { [name]: { ...record, md5, sha256, size: content.length } },
      removed: [],
      repodata_version: 1,
    });
    expect(await repodata("noarch")).to.deep.include({ "packages.conda": {} });
    expect((await get("nowhere/repodata.json")).status).to.equal(404);
    const packed = Buffer.from(await (await get("linux-64/repodata.json.zst")).arrayBuffer());
    const plain = await (await get("linux-64/repodata.json")).text();
    expect(Buffer.from(decompress(packed)).toString()).to.equal(plain);
    const channel = (await (await get("channeldata.json")).json()) as Record<string, unknown>;
    expect(channel["packages"]).to.deep.equal({
      tool: { version: "1.0", subdirs: ["linux-64"], license: "MIT" },
    });
    const file = await get(`linux-64/${name}`);
    expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(content);
  });

  it("lists packages of the first format apart, which are stored over REST as well", async () => {
    const { repositoryUuid: id } = await at.local("first", "conda");
    const first = "tool-1.0-py_0.tar.bz2";
    const native = `${app.url}/registry/project/anna/forge/repository/first/linux-64`;
    const put = (file: string, body: Buffer) =>
      fetch(`${native}/${file}`, { method: "PUT", headers, body: new Uint8Array(body) });
    expect((await put(first, condaTarBz2)).status).to.equal(201);
    const again = await app.put(`${path}/${id}/conda/${first}`, { token, body: condaTarBz2 });
    expect(again.status, again.text).to.equal(200);
    expect((await put(name, conda(tool))).status).to.equal(201);
    const answer = await fetch(`${native}/repodata.json`, { headers });
    const list = (await answer.json()) as Record<string, Record<string, unknown>>;
    expect(Object.keys(list["packages"] ?? {})).to.deep.equal([first]);
    expect(Object.keys(list["packages.conda"] ?? {})).to.deep.equal([name]);
    expect(list["packages"]?.[first]).to.include({ size: condaTarBz2.length, license: "MIT" });
    const file = await fetch(`${native}/${first}`, { headers });
    expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(condaTarBz2);
  });

  it("refuses what is not what its path says, and deletes a package", async () => {
    const head = await app.head();
    expect((await put(`osx-64/${name}`, conda(tool))).status).to.equal(422);
    expect((await put("linux-64/other-1.0-py_0.conda", conda(tool))).status).to.equal(422);
    expect((await put(`linux-64/${name}`, Buffer.from("no zip"))).status).to.equal(422);
    expect((await put(`linux-64/${name}`, conda(tool))).status, "other content").to.equal(409);
    expect(await app.head()).to.equal(head);
    const url = `${base}/linux-64/${name}`;
    expect((await fetch(url, { method: "DELETE", headers })).status).to.equal(204);
    expect(await repodata("linux-64")).to.deep.include({ "packages.conda": {} });
  });

  it("packs its lists into frames of zstd that are read whole", () => {
    for (const bytes of [0, 1, 131_072, 131_073, 400_000]) {
      const content = Buffer.alloc(bytes, "abc");
      expect(Buffer.from(decompress(rawZstdFrame(content))).equals(content), `${bytes}`).to.equal(
        true,
      );
    }
  });
});
