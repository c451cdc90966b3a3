import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { composerZip, npmTarball, nupkg, wheel } from "../../../support/git/archive.ts";
import { registryOf } from "../../../support/package/package.ts";

const app = await startTestApp();
const { token } = await app.givenUser("root", { admin: true });
const registry = registryOf(app, token);
const { get, stored, refused, fetchFile, bytesOf, packageCalled } = registry;

before(() => stored("/generic/forge/1.0-RC/forge.tgz", "forge"));

describe("packages of an ecosystem", () => {
  it("of Python are one project under all spellings, with wheels that fit", async () => {
    const content = wheel("Acme_Pad", "1.0", "Requires-Python: >=3.9\n");
    const file = "Acme_Pad-1.0-py3-none-any.whl";
    const version = await stored(`/pypi/Acme.Pad/1.0/${file}`, content);
    expect(version["languageVersion"]).to.equal(">=3.9");
    const second = await stored("/pypi/acme-pad/v1.0.0/acme_pad-1.0.tar.gz", "source");
    expect(second.id).to.equal(version.id);
    expect(second.packageFiles).to.have.length(2);
    expect(second["languageVersion"]).to.equal(">=3.9");
    expect(await bytesOf(`/pypi/ACME__pad/1/${file}`)).to.deep.equal(content);
    const got = await fetchFile(`/pypi/acme-pad/1.0/${file}`);
    expect(got.headers.get("content-type")).to.equal("application/zip");
    await got.arrayBuffer();
    await refused(`/pypi/other/1.0/${file}`, content, 422, "package.file_mismatch");
    await refused("/pypi/acme-pad/newest/a", "x", 422, "package.version_invalid");
    await refused(`/pypi/acme-pad/1.0/${file}`, "no wheel", 422, "package.file_malformed");
    expect(await bytesOf(`/pypi/acme-pad/1.0/${file}`)).to.deep.equal(content);
  });

  it("of npm are scoped or not, and are what their tarball says", async () => {
    const plain = npmTarball({ name: "pad", version: "1.0.0", engines: { node: ">=20" } });
    const scoped = npmTarball({ name: "@acme/pad", version: "1.0.0" });
    const version = await stored("/npm/pad/1.0.0/pad-1.0.0.tgz", plain);
    expect(version["languageVersion"]).to.equal(">=20");
    const other = await stored("/npm/pad/acme/1.0.0/pad-1.0.0.tgz", scoped);
    expect(other.id).not.to.equal(version.id);
    for (const scope of ["acme", "@acme", "%40acme"]) {
      expect(await bytesOf(`/npm/pad/${scope}/1.0.0/pad-1.0.0.tgz`)).to.deep.equal(scoped);
    }
    expect(await bytesOf("/npm/pad/v1.0.0/pad-1.0.0.tgz")).to.deep.equal(plain);
    expect(await packageCalled("@acme/pad")).to.include({ groupId: "@acme", artifactId: "pad" });
    await refused("/npm/evil/1.0.0/evil-1.0.0.tgz", plain, 422, "package.file_mismatch");
    await refused("/npm/pad/evil/1.0.0/pad-1.0.0.tgz", scoped, 422, "package.file_mismatch");
    await refused("/npm/pad/1.0.1/pad-1.0.1.tgz", plain, 422, "package.file_mismatch");
    await refused("/npm/pad/1.0.1/pad-1.0.1.tgz", "no tarball", 422, "package.file_malformed");
    await refused("/npm/Pad/1.0.0/pad-1.0.0.tgz", plain, 422, "package.name_invalid");
  });

  it("of Maven are fetched by the ids of the package and the file", async () => {
    const jar = randomBytes(5_000);
    const at = "/maven/org.acme/pad/1.0-20261121.120000-3";
    await stored(`${at}/pad-1.0.jar`, jar);
    const version = await stored(`${at}/pad-1.0.pom`, "<project/>");
    expect(version["baseVersion"]).to.equal("1.0-SNAPSHOT");
    const info = await packageCalled("org.acme:pad");
    expect(info).to.include({ groupId: "org.acme", artifactId: "pad", type: "maven" });
    const [jarFile] = version.packageFiles;
    const download = (id: unknown, of: string, file: unknown) =>
      `/maven/${id}/${of}/${file}/download`;
    const found = download(info["id"], "1.0-20261121.120000-3", jarFile?.id);
    expect(await bytesOf(found)).to.deep.equal(jar);
    expect((await fetchFile(found)).headers.get("content-type")).to.equal(
      "application/java-archive",
    );
    const generic = await packageCalled("forge");
    for (const foreign of [
      download(info["id"], "1.0", jarFile?.id),
      download(generic["id"], "1.0-20261121.120000-3", jarFile?.id),
      download(randomUUID(), "1.0-20261121.120000-3", jarFile?.id),
      download(info["id"], "1.0-20261121.120000-3", randomUUID()),
      download(generic["id"], "1.0-RC", generic["id"]),
    ]) {
      expect((await fetchFile(foreign)).status, foreign).to.equal(404);
    }
    await refused("/maven/org..acme/pad/1/pad.jar", "x", 422, "package.name_invalid");
  });

  it("of Composer and NuGet are named by what is in them", async () => {
    const archive = composerZip({ name: "acme/pad", require: { php: ">=8.1" } }, "acme-pad-1f2e/");
    const version = await stored("/composer/v1.0", archive);
    expect(version["languageVersion"]).to.equal(">=8.1");
    expect(await bytesOf("/composer/acme/pad/1.0.0")).to.deep.equal(archive);
    expect(await packageCalled("acme/pad")).to.include({ groupId: "acme", type: "composer" });
    await refused("/composer/1.0", "no zip", 422, "package.file_malformed");
    const other = composerZip({ name: "acme/pad", version: "2.0" });
    await refused("/composer/1.0", other, 422, "package.file_mismatch");

    const library = nupkg("Acme.Pad", "1.0.0.0");
    const nuget = await stored("/nuget", library);
    expect(nuget.packageFiles.map(({ name }) => name)).to.deep.equal(["acme.pad.1.0.0.nupkg"]);
    for (const at of ["/nuget/Acme.Pad/1.0.0.0", "/nuget/acme.pad/1.0"]) {
      expect(await bytesOf(at)).to.deep.equal(library);
    }
    await refused("/nuget", "no zip", 422, "package.file_malformed");
    await refused("/nuget", composerZip({ name: "a/b" }), 422, "package.file_malformed");
  });

  it("are not found by the names of another, or under names that are none", async () => {
    for (const at of [
      "/npm/forge/1.0-RC/forge.tgz",
      "/pypi/forge/1.0-RC/forge.tgz",
      "/generic/forge/1.0-RC/other.tgz",
      "/generic/forge/1.0/forge.tgz",
      "/generic/FORGE/1.0-RC/forge.tgz",
      "/npm/Pad/1.0.0/pad-1.0.0.tgz",
      "/npm/pad/newest/pad-1.0.0.tgz",
      "/nuget/acme.pad/x",
      "/composer/Acme/pad/1.0",
    ]) {
      const { status, body } = await get(at);
      expect(status, at).to.equal(404);
      expect(body["code"], at).to.match(/^package(?:_file)?\.not_found$/);
    }
  });
});
