import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { filesInRange } from "../../../../../src/projections/package/part.ts";
import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { tgz, wheel, zip } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { app, anna, at } = await startRegistryApp();
const base = `${app.url}/registry/project/anna/forge/repository/py`;
const authorization = basicAuth("__token__", anna.token);
const headers = { authorization };

before(() => at.local("py", "pypi", { packageReuploadType: "NONE" }));

/** The form as twine sends it. */
function upload(fileName: string, content: Buffer, fields: Readonly<Record<string, string>>) {
  const form = new FormData();
  const all = { ":action": "file_upload", protocol_version: "1", description: "x".repeat(50_000) };
  for (const [name, value] of Object.entries({ ...all, ...fields })) form.append(name, value);
  for (let n = 0; n < 60; n += 1) form.append("classifiers", `Topic :: ${n}`);
  form.append("content", new Blob([new Uint8Array(content)]), fileName);
  return fetch(`${base}/`, { method: "POST", headers, body: form });
}

const sdist = (name: string, version: string) =>
  tgz([
    [`${name}-${version}/PKG-INFO`, `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`],
  ]);
const simple = (name: string, accept = "text/html") =>
  fetch(`${base}/simple/${name}`, { headers: { ...headers, accept }, redirect: "manual" });

describe("pip", () => {
  needsProgram("pip");

  it("downloads what was uploaded, by its metadata", async () => {
    const info = "my_tool-1.0.dist-info";
    const metadata = "Metadata-Version: 2.1\nName: my_tool\nVersion: 1.0\nRequires-Python: >=3.6\n";
    const content = zip([
      [`${info}/METADATA`, metadata],
      [`${info}/WHEEL`, "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"],
      [`${info}/RECORD`, `${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`],
    ]);
    const fields = { name: "My.Tool", version: "1.0" };
    const answer = await upload("my_tool-1.0-py3-none-any.whl", content, fields);
    expect(answer.status, await answer.text()).to.equal(200);
    const directory = await temporaryDirectory();
    const index = `${base.replace("//", `//anna:${anna.token}@`)}/simple/`;
    const args = ["download", "--no-cache-dir", "--disable-pip-version-check", "-d", directory];
    await promisify(execFile)("pip", [...args, "--index-url", index, "my-tool"], {
      env: { ...process.env, HOME: directory },
    });
    expect(await readdir(directory)).to.include("my_tool-1.0-py3-none-any.whl");
  }).timeout(240_000);
});

describe("twine", () => {
  needsProgram("twine");

  it("uploads a wheel, and fails for the same name, with other content or the same", async () => {
    const directory = await temporaryDirectory();
    const file = path.join(directory, "by_twine-1.0-py3-none-any.whl");
    const login = ["--username", "anna", "--password", anna.token, "--non-interactive"];
    const args = ["upload", "--disable-progress-bar", "--repository-url", `${base}/`, ...login];
    const env = { ...process.env, HOME: directory };
    const twine = (...more: readonly string[]) =>
      promisify(execFile)("twine", [...args, ...more, file], { env });
    await writeFile(file, wheel("by_twine", "1.0"));
    await twine();
    expect(await (await simple("by-twine/")).text()).to.include("by_twine-1.0-py3-none-any.whl");
    await twine("--skip-existing");
    for (const more of ["", "Requires-Python: >=3.8\n"]) {
      await writeFile(file, wheel("by_twine", "1.0", more));
      const refused = await twine().catch(({ stdout, stderr }) => `${stdout}${stderr}`);
      expect(refused)
        .to.include("HTTPError: 409")
        .and.match(/already\s+exists/);
    }
  }).timeout(240_000);
});

describe("the simple index", () => {
  const json = "application/vnd.pypi.simple.v1+json";

  it("reads no long texts of metadata to list files", async () => {
    const content = wheel(
      "long",
      "1.0",
      `Requires-Python: >=3.8\nSummary: ${"x".repeat(50_000)}\n`,
    );
    const fields = { name: "long", version: "1.0" };
    expect((await upload("long-1.0-py3-none-any.whl", content, fields)).status).to.equal(200);
    const { db } = app.deps;
    const { id } = (await db("package").where("name", "long").first("id")) as { id: string };
    const [file] = await filesInRange(db, id, { after: -1n, to: 10n ** 12n });
    expect(file?.metadata).to.have.length.below(200).and.contain(">=3.8");
    const endless = wheel("long", "2.0", `Requires-Python: >=3.8${", !=3.9".repeat(500)}\n`);
    const second = { name: "long", version: "2.0" };
    expect((await upload("long-2.0-py3-none-any.whl", endless, second)).status).to.equal(200);
    expect((await (await simple("long/")).text()).match(/data-requires-python/g)).to.have.length(1);
  });

  it("shows files as HTML and JSON with digests, metadata and what Python they need", async () => {
    const content = wheel("shown", "2.0", 'Requires-Python: >=3.8, ===4"\n');
    const sha256_digest = createHash("sha256").update(content).digest("hex");
    const fields = { name: "Shown", version: "2.0", sha256_digest };
    expect((await upload("shown-2.0-py3-none-any.whl", content, fields)).status).to.equal(200);
    expect((await upload("shown-2.0.tar.gz", sdist("shown", "2.0"), fields)).status).to.equal(400);
    const plain = { name: "shown", version: "2.0" };
    expect((await upload("shown-2.0.tar.gz", sdist("shown", "2.0"), plain)).status).to.equal(200);

    const html = await (await simple("shown/")).text();
    expect(html).to.contain(`/files/shown/2.0/shown-2.0-py3-none-any.whl#sha256=${sha256_digest}"`);
    expect(html).to.contain('data-requires-python="&#62;=3.8, ===4&#34;"');
    const answer = await simple("shown/", `${json}, text/html;q=0.1`);
    expect(answer.headers.get("content-type")).to.equal(json);
    type File = Record<string, unknown> & { url: string; "core-metadata": { sha256: string } };
    const document = (await answer.json()) as { versions: string[]; files: File[] };
    expect(document.versions).to.deep.equal(["2.0"]);
    const file = document.files.find(({ filename }) => String(filename).endsWith(".whl"))!;
    expect(file).to.deep.include({ hashes: { sha256: sha256_digest }, yanked: false });
    const metadata = await (await fetch(`${file.url}.metadata`, { headers })).text();
    expect(metadata).to.match(/^Metadata-Version: 2.1\nName: shown\n/);
    expect(createHash("sha256").update(metadata).digest("hex")).to.equal(
      file["core-metadata"].sha256,
    );
    const projects = (await (await simple("", json)).json()) as { projects: { name: string }[] };
    expect(projects.projects.map(({ name }) => name)).to.include("shown");
  });

  it("leads to the normal name of a project", async () => {
    for (const name of ["Shown", "shown", "SHOWN/"]) {
      const answer = await simple(name);
      expect([answer.status, answer.headers.get("location")]).to.deep.equal([
        301,
        `${base}/simple/shown/`,
      ]);
    }
    expect((await simple("nothing/")).status).to.equal(404);
  });

  it("marks a version that was yanked with its reason until it is taken back", async () => {
    const post = (what: string, body?: string) =>
      fetch(`${base}/simple/shown/2.0/${what}`, {
        method: "POST",
        headers,
        ...(body === undefined ? {} : { body }),
      });
    expect((await post("yank", JSON.stringify({ reason: 'Broken "badly"' }))).status).to.equal(200);
    expect(await (await simple("shown/")).text()).to.contain(
      'data-yanked="Broken &#34;badly&#34;"',
    );
    expect((await post("unyank")).status).to.equal(200);
    expect(await (await simple("shown/")).text()).not.to.contain("data-yanked");
    expect((await post("yank", "no json")).status).to.equal(422);
  });

  it("takes no file of another project or version, with a wrong digest or a bad name", async () => {
    const head = await app.head();
    const content = wheel("right", "1.0");
    const name = "right-1.0-py3-none-any.whl";
    const fields = { name: "right", version: "1.0" };
    for (const [file, bytes, form, status] of [
      ["left-1.0-py3-none-any.whl", content, {}, 422],
      ["right-2.0-py3-none-any.whl", content, {}, 422],
      [name, content, { ...fields, name: "left" }, 400],
      [name, content, { ...fields, version: "1.1" }, 400],
      [name, content, { ...fields, md5_digest: "0".repeat(32) }, 400],
      [name, Buffer.from("no zip"), fields, 422],
      ["right.exe", content, fields, 422],
      ["../right-1.0-py3-none-any.whl", content, { ":action": "file_upload", ...fields }, 400],
      ["a\\right-1.0-py3-none-any.whl", content, { ":action": "file_upload", ...fields }, 400],
      ["../right-1.0-py3-none-any.whl", content, { ":action": "submit" }, 400],
    ] as const) {
      const answer = await upload(file, Buffer.from(bytes), form);
      expect(answer.status, `${file} ${await answer.text()}`).to.equal(status);
    }
    expect(await app.head()).to.equal(head);
    expect(Number((await app.deps.db("public.blob_hold").count())[0]!["count"])).to.equal(0);
  });

  it("answers 409 to other content of a file that is there, as twine expects", async () => {
    const fields = { name: "once", version: "1.0" };
    const file = "once-1.0-py3-none-any.whl";
    expect((await upload(file, wheel("once", "1.0"), fields)).status).to.equal(200);
    const again = await upload(file, wheel("once", "1.0", "Summary: other\n"), fields);
    expect(again.status).to.equal(409);
  });
});
