import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { nativeRegistry, run } from "../../../../support/client/native-registry.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { app, anna, at, baseOf, get, send, textOf, held } = await nativeRegistry();

describe("a repository of Conan", () => {
  const base = baseOf("recipes");
  const recipe = `${base}/v2/conans/pad/1.0/_/_`;
  const [first, second] = ["a".repeat(32), "b".repeat(32)];
  const [id, prev] = ["c".repeat(40), "d".repeat(32)];
  const md5 = (text: string) => createHash("md5").update(text).digest("hex");
  const json = async (url: string) => JSON.parse(await textOf(url)) as unknown;
  const put = async (url: string, content: string) => (await send("PUT", url, content)).status;
  const conanfile = "class Pad: pass\n";
  const manifest = (sum = md5(conanfile)) => `1700000000\nconanfile.py: ${sum}\n`;

  before(() => at.local("recipes", "conan", { isDeletePackageAllowed: true }));

  it("says what it can do, and takes a token for a password", async () => {
    expect((await fetch(`${base}/v1/ping`)).status).to.equal(401);
    const ping = await get(`${base}/v1/ping`);
    expect(ping.headers.get("x-conan-server-capabilities")).to.equal("revisions");
    expect(await textOf(`${base}/v2/users/authenticate`)).to.equal(anna.token);
    const headers = { authorization: `Bearer ${anna.token}` };
    const checked = await fetch(`${base}/v2/users/check_credentials`, { headers });
    expect(await checked.text()).to.equal("anna");
  });

  it("lists a revision once its manifest is there", async () => {
    const files = `${recipe}/revisions/${first}/files`;
    expect(await put(`${files}/conanfile.py`, conanfile)).to.equal(201);
    expect((await get(`${recipe}/latest`)).status).to.equal(404);
    expect(await put(`${files}/conanmanifest.txt`, manifest())).to.equal(201);
    expect(await json(`${recipe}/latest`)).to.include({ revision: first });
    expect(await json(files)).to.deep.equal({
      files: { "conanfile.py": {}, "conanmanifest.txt": {} },
    });
    expect(await textOf(`${files}/conanfile.py`)).to.equal(conanfile);
    await put(`${recipe}/revisions/${second}/files/conanmanifest.txt`, "1\n");
    const { revisions } = (await json(`${recipe}/revisions`)) as {
      revisions: { revision: string }[];
    };
    expect(revisions.map(({ revision }) => revision)).to.deep.equal([second, first]);
    expect(await json(`${base}/v2/conans/search?q=pa*`)).to.deep.equal({ results: ["pad/1.0"] });
    expect(await json(`${base}/v2/conans/search?q=other`)).to.deep.equal({ results: [] });
  });

  it("has binaries of a revision, and removes what the path names", async () => {
    const packages = `${recipe}/revisions/${first}/packages`;
    const files = `${packages}/${id}/revisions/${prev}/files`;
    const info = "[settings]\nos=Linux\n";
    expect(await put(`${files}/conaninfo.txt`, info)).to.equal(201);
    expect(await put(`${files}/metadata/sign/a.sig`, "x")).to.equal(201);
    expect(await put(`${files}/conanmanifest.txt`, "1\n")).to.equal(201);
    expect(await json(`${packages}/${id}/latest`)).to.include({ revision: prev });
    expect(await json(`${recipe}/revisions/${first}/search`)).to.deep.equal({
      [id]: { content: info },
    });
    expect(await textOf(`${files}/metadata/sign/a.sig`)).to.equal("x");
    expect((await send("DELETE", packages)).status).to.equal(200);
    expect((await get(`${packages}/${id}/latest`)).status).to.equal(404);
    expect(await json(`${recipe}/latest`)).to.include({ revision: second });
    expect((await send("DELETE", `${recipe}/revisions/${second}`)).status).to.equal(200);
    expect(await json(`${recipe}/latest`)).to.include({ revision: first });
    expect((await send("DELETE", `${base}/v2/conans/none/1.0/_/_`)).status).to.equal(404);
  });

  it("takes the empty information of a package without settings", async () => {
    const recipe = `${base}/v2/conans/bare/1.0/_/_/revisions/${first}`;
    const files = `${recipe}/packages/${id}/revisions/${prev}/files`;
    expect(await put(`${files}/conaninfo.txt`, "")).to.equal(201);
    expect(await textOf(`${files}/conaninfo.txt`)).to.equal("");
    expect(await put(`${files}/conan_package.tgz`, "")).to.equal(422);
  });

  it("refuses files that differ from the manifest, odd paths and other content", async () => {
    const files = `${base}/v2/conans/bad/1.0/_/_/revisions/${first}/files`;
    expect(await put(`${files}/conanfile.py`, conanfile)).to.equal(201);
    const head = await app.head();
    expect(await put(`${files}/conanmanifest.txt`, manifest("0".repeat(32)))).to.equal(422);
    expect(await put(`${files}/conanmanifest.txt`, "no manifest")).to.equal(422);
    expect(await put(`${files}/a%20b`, "x")).to.equal(422);
    expect(await put(`${files.replace(first, "latest")}/a`, "x")).to.equal(422);
    expect(await put(`${files}/conanfile.py`, "other")).to.equal(409);
    const headers = { authorization: `Bearer ${anna.token}`, "x-checksum-deploy": "true" };
    expect((await send("PUT", `${files}/b`, "", headers)).status).to.equal(404);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
  });

  describe("and conan", () => {
    needsProgram("conan");

    it("uploads, lists, downloads and removes a recipe with its binary", async () => {
      const cwd = await temporaryDirectory();
      const env = { ...process.env, CONAN_HOME: path.join(cwd, "home"), HOME: cwd };
      const conan = (...args: string[]) => run("conan", args, { cwd, env });
      await mkdir(path.join(cwd, "recipe"));
      const recipe = `from conan import ConanFile
class Real(ConanFile):
    name = "real"
    version = "1.0"
    options = {"shared": [True, False]}
    default_options = {"shared": False}
    exports_sources = "*.txt"
    def package(self):
        self.copy = None
`;
      await writeFile(path.join(cwd, "recipe", "conanfile.py"), recipe);
      await writeFile(path.join(cwd, "recipe", "a.txt"), "a");
      await mkdir(path.join(cwd, "home", "profiles"), { recursive: true });
      await writeFile(path.join(cwd, "home", "profiles", "default"), "[settings]\nos=Linux\n");
      await conan("create", "recipe");
      await conan("remote", "add", "forge", base);
      await conan("remote", "login", "forge", "anna", "-p", anna.token);
      await conan("upload", "real/1.0", "-r", "forge", "-c");
      const listed = await conan("list", "real/*:*", "-r", "forge");
      expect(listed.stdout).to.contain("real/1.0").and.contain("shared: False");
      await conan("remove", "real/1.0", "-c");
      await conan("download", "real/1.0", "-r", "forge");
      await conan("install", "--requires=real/1.0", "-r", "forge", "--build=never");
      await conan("remove", "real/1.0", "-r", "forge", "-c");
      expect((await get(`${base}/v2/conans/real/1.0/_/_/latest`)).status).to.equal(404);
    }).timeout(240_000);
  });
});
