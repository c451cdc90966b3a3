import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import {
  packageBase as base,
  type FileView,
  registryOf,
} from "../../../support/package/package.ts";

const app = await startTestApp();
const { token } = await app.givenUser("root", { admin: true });
const registry = registryOf(app, token);
const { put, get, stored, refused, spooled, held, fetchFile, bytesOf } = registry;
const { list, packages, packageCalled } = registry;

const digest = (name: string, content: Buffer) => createHash(name).update(content).digest("hex");

describe("a generic package", () => {
  it("comes into being with its first file, and shows every field", async () => {
    const content = randomBytes(300_000);
    const version = await stored("/generic/forge/1.0-RC/forge.tgz", content);
    const [file] = version.packageFiles;
    expect(version).to.deep.include({
      baseVersion: "1.0-RC",
      version: "1.0-RC",
      lowerVersion: "1.0-rc",
      downloadCount: 0,
      languageVersion: null,
      packageUploadType: "API",
      internal: null,
    });
    expect(file).to.include({
      name: "forge.tgz",
      size: 300_000,
      hashMd5: digest("md5", content),
      hashSHA1: digest("sha1", content),
      hashSHA256: digest("sha256", content),
      packageUploadType: "API",
      nodeUuid: version.id,
    });
    expect(Date.parse(String(file?.["createdAt"]))).to.be.closeTo(Date.now(), 60_000);
    const info = await packageCalled("forge");
    expect(info).to.deep.include({
      version: "1.0-RC",
      ...{ groupId: "", artifactId: "forge", type: "generic", ownerUuid: "", ownerType: "GLOBAL" },
    });
    const at = `/${info["id"]}`;
    expect((await get(at)).body).to.deep.equal(info);
    expect((await get(`${at}/1.0-RC`)).body).to.deep.equal(version);
    expect(await list(`${at}/version-list`, "simplePackageVersionModelList")).to.deep.equal([
      version,
    ]);
    expect(await list(`${at}/package-file`, "simplePackageFileModelList")).to.deep.equal([file]);
    expect(await bytesOf("/generic/forge/1.0-RC/forge.tgz")).to.deep.equal(content);
    expect([await held(), await spooled()]).to.deep.equal([0, []]);
  });

  it("is listed with its newest version", async () => {
    await stored("/generic/growing/1/a", "1");
    await stored("/generic/growing/0.9/a", "2");
    await stored("/generic/growing/1/b", "3");
    expect(await packageCalled("growing")).to.include({ version: "0.9" });
  });

  it("has a name and versions of any letters, digits, spaces and ._-+~@", async () => {
    const name = "_my Tool+~@2";
    const version = ".1 beta+x~@";
    const path = `/generic/${encodeURIComponent(name)}/${encodeURIComponent(version)}/a`;
    expect((await stored(path, "x"))["version"]).to.equal(version);
    expect((await bytesOf(path)).toString()).to.equal("x");
    const { id } = await packageCalled(name);
    expect((await get(`/${id}/${encodeURIComponent(version)}`)).status).to.equal(200);
    for (const bad of ["a/b", "é", "a:b", "x".repeat(256), "a\tb", "%", "a*"]) {
      const segment = encodeURIComponent(bad);
      expect((await put(`/generic/${segment}/1/a`, "x")).status, bad).to.equal(422);
      expect((await put(`/generic/good/${segment}/a`, "x")).status, bad).to.equal(422);
    }
  });

  it("takes its file as a form as well, under the key file alone", async () => {
    const send = async (parts: readonly (readonly [string, string])[]) => {
      const form = new FormData();
      for (const [key, content] of parts) form.append(key, new Blob([content]), "ignored.txt");
      const headers = { authorization: `token ${token}` };
      const init = { method: "PUT", headers, body: form };
      return (await fetch(`${app.url}${base}/generic/formed/1/a.txt`, init)).status;
    };
    expect(await send([["file", "hello"]])).to.equal(200);
    expect((await bytesOf("/generic/formed/1/a.txt")).toString()).to.equal("hello");
    expect(await send([["files", "bye"]])).to.equal(422);
    expect(
      await send([
        ["file", "bye"],
        ["file", "bye"],
      ]),
    ).to.equal(422);
    expect(await send([])).to.be.within(400, 422);
    expect((await bytesOf("/generic/formed/1/a.txt")).toString()).to.equal("hello");
    expect([await held(), await spooled()]).to.deep.equal([0, []]);
  });

  it("has a file replaced by one of the same name, and not by the same content", async () => {
    const at = "/generic/changing/1/a.bin";
    const first = await stored(at, "one");
    const head = await app.head();
    expect(await stored(at, "one")).to.deep.equal(first);
    expect(await app.head()).to.equal(head);
    const etag = (await fetchFile(at)).headers.get("etag") ?? "";
    const second = await stored(at, "two");
    expect(second.packageFiles.map(({ id }) => id)).to.deep.equal([first.packageFiles[0]?.id]);
    expect((await bytesOf(at)).toString()).to.equal("two");
    const again = await fetchFile(at, { "if-none-match": etag });
    expect(again.status, "what a client had before").to.equal(200);
    expect(
      (await fetchFile(at, { "if-none-match": again.headers.get("etag") ?? "" })).status,
    ).to.equal(304);
  });

  it("is one package when its files are stored at the same time", async () => {
    const names = Array.from({ length: 8 }, (_, n) => `file-${n}`);
    const answers = await Promise.all(names.map((name) => put(`/generic/race/1/${name}`, name)));
    expect(answers.map(({ status }) => status)).to.deep.equal(names.map(() => 200));
    const race = await packageCalled("race");
    const version = await get(`/${race["id"]}/1`);
    const files = version.body["packageFiles"] as FileView[];
    expect(files.map(({ name }) => name)).to.deep.equal(names);
    for (const name of names) {
      expect((await bytesOf(`/generic/race/1/${name}`)).toString()).to.equal(name);
    }
  });

  it("is not made by nothing, too much, or a name that is none", async () => {
    await refused("/generic/none/1/a", "", 422, "package.file_empty");
    const { packageFileBytesMax } = app.deps.config;
    const large = Buffer.alloc(packageFileBytesMax + 1);
    await refused("/generic/none/1/a", large, 413, "blob.too_large");
    await refused("/generic/none:/1/a", "x", 422, "package.name_invalid");
    await refused("/generic/none/version-list/a", "x", 422, "package.version_invalid");
    for (const odd of ["..%2f..%2fetc", "%2e%2e", "a%00b", "%c3%a4", "a%5cb"]) {
      for (const at of [`/generic/${odd}/1/a`, `/generic/a/${odd}/a`, `/generic/a/1/${odd}`]) {
        const { status } = await put(at, "x");
        expect(status, at).to.be.oneOf([404, 405, 422]);
      }
    }
    for (const odd of ["a%20b", "-x"])
      expect((await put(`/generic/a/1/${odd}`, "x")).status).to.equal(404);
    expect((await packages()).map(({ name }) => name)).not.to.include("none");
  });

  it("leaves nothing of an upload that breaks off", async () => {
    const head = await app.head();
    const { hostname, port } = new URL(app.url);
    const headers = { authorization: `token ${token}`, "content-length": 1_000_000 };
    const at = `${base}/generic/broken/1/a`;
    const sending = request({ hostname, port, method: "PUT", path: at, headers });
    sending.on("error", () => undefined);
    sending.write(Buffer.alloc(500_000));
    await eventually(async () => (await spooled()).length === 1);
    sending.destroy();
    await eventually(async () => (await spooled()).length === 0);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
  });
});

describe("a download of a package's file", () => {
  const content = randomBytes(100_000);
  const at = "/generic/fetched/1/page.html";
  before(() => stored(at, content));

  it("is bytes that no browser shows or guesses at", async () => {
    const { headers } = await fetchFile(at);
    const expected = {
      "content-type": "application/octet-stream",
      "content-disposition": "attachment; filename=\"page.html\"; filename*=UTF-8''page.html",
      "x-content-type-options": "nosniff",
      "content-length": "100000",
      "accept-ranges": "bytes",
      "cache-control": "private, no-cache",
      etag: `"${digest("sha256", content)}"`,
    };
    for (const [name, value] of Object.entries(expected)) {
      expect(headers.get(name), name).to.equal(value);
    }
    expect(headers.get("content-security-policy")).to.contain("sandbox");
  });

  it("is partial when requested by Range", async () => {
    const answer = await fetchFile(at, { range: "bytes=10-19" });
    expect([answer.status, answer.headers.get("content-range")]).to.deep.equal([
      206,
      "bytes 10-19/100000",
    ]);
    expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(content.subarray(10, 20));
    expect((await fetchFile(at, { range: "bytes=100000-" })).status).to.equal(416);
  });

  it("counts when its end was sent, and only then", async () => {
    await stored("/generic/counted/1/a", "abcdef");
    await stored("/generic/counted/1/b", "abcdef");
    const info = await packageCalled("counted");
    const count = async () => (await get(`/${info["id"]}/1`)).body["downloadCount"];
    const read = async (headers: Record<string, string>, method?: string) =>
      (await fetchFile("/generic/counted/1/a", headers, method)).arrayBuffer();
    const etag = `"${digest("sha256", Buffer.from("abcdef"))}"`;
    await read({ range: "bytes=0-2" });
    await read({ "if-none-match": etag });
    await read({}, "HEAD");
    expect(await count()).to.equal(0);
    await read({});
    await read({ range: "bytes=3-" });
    await bytesOf("/generic/counted/1/b");
    await eventually(async () => (await count()) === 3);
    for (let n = 0; n < 10; n += 1) await fetchAndLeave("/generic/counted/1/a", 6);
    await eventually(async () => (await count()) === 13);
  });
});

/** As clients do that close the line with the last byte that was announced. */
async function fetchAndLeave(at: string, bytes: number): Promise<void> {
  const { hostname, port } = new URL(app.url);
  const headers = { authorization: `token ${token}` };
  await new Promise<void>((resolve, reject) => {
    const sending = request(
      { hostname, port, path: base + at, headers, agent: false },
      (answer) => {
        let left = bytes;
        answer.on("data", (chunk: Buffer) => {
          left -= chunk.length;
          if (left === 0) answer.destroy();
        });
        answer.once("close", resolve);
      },
    );
    sending.once("error", reject).end();
  });
}

describe("lists of packages", () => {
  it("are paged, by name; versions newest first", async () => {
    for (const version of ["1", "3", "2"]) await stored(`/generic/paged/${version}/a`, "x");
    const names = (await packages()).map(({ name }) => String(name));
    expect(names.length).to.be.greaterThan(3);
    const pages = await Promise.all(names.map((_, page) => packages(`size=1&page=${page}`)));
    expect(pages.flat().map(({ name }) => name)).to.deep.equal(names);
    const { id } = await packageCalled("paged");
    const versions = await list(`/${id}/version-list`, "simplePackageVersionModelList");
    expect(versions.map(({ version }) => version)).to.deep.equal(["2", "3", "1"]);
    const { body } = await get(`/${id}/version-list?size=2&page=1`);
    expect(body["page"]).to.deep.equal({ size: 2, totalElements: 3, totalPages: 2, number: 1 });
    const missing = await get(`/${id}/4`);
    expect([missing.status, missing.body["code"]]).to.deep.equal([
      404,
      "package_version.not_found",
    ]);
  });
});
