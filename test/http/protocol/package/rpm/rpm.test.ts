import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { nativeRegistry, run, sha256 } from "../../../../support/client/native-registry.ts";
import { rpm } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { app, anna, at, baseOf, withLogin, get, send, bytes, textOf, held, verified } =
  await nativeRegistry();

describe("a repository of RPM", () => {
  const base = baseOf("rpms");
  const put = (content: Buffer, to = base) => send("PUT", `${to}/upload`, content);
  const relations = [
    [1116, 4, [0, 1, 1]],
    [1117, 8, ["tool", "pad", "data"]],
    [1118, 8, ["/usr/bin/", "/usr/share/"]],
    [1030, 3, [0o100755, 0o040755, 0o100644]],
    [1037, 4, [0, 0, 64]],
    [1049, 8, ["libc", "rpmlib(FileDigests)", "bash"]],
    [1048, 4, [12, 8, 512]],
    [1050, 8, ["1:2.0-3", "1", ""]],
    [1080, 4, [1_700_000_000]],
    [1081, 8, ["Anna <anna@example.org> - 1.0-1"]],
    [1082, 8, ["- First"]],
  ] as const;

  before(async () => {
    const one = await at.local("rpms", "rpm", { isDeletePackageAllowed: true });
    const two = await at.local("rpms-two", "rpm");
    await at.virtual("rpms-all", "rpm", {
      includedRepositoryUuids: [two.repositoryUuid, one.repositoryUuid],
    });
  });

  /** Path and text of a list, as repomd.xml names it; its sums are compared. */
  async function list(kind: string, of = base): Promise<readonly [string, string]> {
    const root = await textOf(`${of}/repodata/repomd.xml`);
    const data = new RegExp(`<data type="${kind}">.*?</data>`, "s").exec(root)?.[0] ?? "";
    const href = /href="([^"]+)"/.exec(data)?.[1] ?? "";
    const packed = await bytes(`${of}/${href}`);
    const plain = gunzipSync(packed);
    expect(data).to.contain(`<checksum type="sha256">${sha256(packed)}<`);
    expect(data).to.contain(`<open-checksum type="sha256">${sha256(plain)}<`);
    expect(data).to.contain(`<size>${packed.length}<`).and.contain(`<open-size>${plain.length}<`);
    return [href, plain.toString("utf8")];
  }

  it("lists what the headers of packages say", async () => {
    expect((await list("primary"))[1]).to.contain('packages="0"');
    const content = rpm("pad", "1.0~rc1", "1", [[1003, 4, [2]], ...relations]);
    expect((await put(content)).status).to.equal(201);
    const [, primary] = await list("primary");
    for (const part of [
      '<name>pad</name><arch>noarch</arch><version epoch="2" ver="1.0~rc1" rel="1"/>',
      `<checksum type="sha256" pkgid="YES">${sha256(content)}</checksum>`,
      "<summary>Pads &#38; &#60;texts&#62;</summary><description>A text.</description>",
      `package="${content.length}" installed="12" archive="4321"`,
      '<rpm:entry name="libc" flags="GE" epoch="1" ver="2.0" rel="3"/>',
      '<rpm:entry name="bash" pre="1"/>',
      "<file>/usr/bin/tool</file>",
    ]) {
      expect(primary).to.contain(part);
    }
    expect(primary).to.not.contain("rpmlib(").and.not.contain("/usr/share/pad");
    const href = /<location href="([^"]+)"/.exec(primary)?.[1] ?? "";
    expect(await bytes(`${base}/${href}`)).to.deep.equal(content);
    const [, filelists] = await list("filelists");
    expect(filelists).to.contain('<file type="dir">/usr/share/pad</file>');
    expect(filelists).to.contain('<file type="ghost">/usr/share/data</file>');
    expect((await list("other"))[1]).to.contain('date="1700000000">- First<');
  });

  it("merges members, and keeps the lists of the last revision", async () => {
    const [href] = await list("primary");
    const all = baseOf("rpms-all");
    expect((await put(rpm("many", "1", "1"), baseOf("rpms-two"))).status).to.equal(201);
    expect((await list("primary", all))[1])
      .to.contain("<name>pad</name>")
      .and.contain("many");
    expect((await put(rpm("later", "1", "1"))).status).to.equal(201);
    expect((await list("primary"))[0]).to.not.equal(href);
    expect((await get(`${base}/${href}`)).status, "after the next upload").to.equal(200);
    expect((await get(`${base}/repodata/${"0".repeat(64)}-primary.xml.gz`)).status).to.equal(404);
    expect((await send("DELETE", `${base}/packages/later/1-1`)).status).to.equal(204);
    expect((await list("primary"))[0]).to.equal(href);
  });

  it("refuses what is no package, is cut or out of bounds", async () => {
    const head = await app.head();
    const whole = rpm("bad", "1", "1");
    const changed = (at: number, value: number) => {
      const copy = Buffer.from(whole);
      copy.writeUInt32BE(value, at);
      return copy;
    };
    const cases: readonly (readonly [string, Buffer, number])[] = [
      ["nothing", Buffer.from("no package"), 422],
      ["cut in the lead", whole.subarray(0, 50), 422],
      ["cut in the header", whole.subarray(0, 300), 422],
      ["no lead", changed(0, 0), 422],
      ["no header", changed(96, 0), 422],
      ["too many entries", changed(96 + 8, 0xffffffff), 422],
      ["too much data", changed(96 + 12, 0xffffffff), 422],
      ["an entry out of bounds", changed(96 + 16 + 8, 0xfffffff0), 422],
      ["a text twice", rpm("bad", "1", "1", [[1000, 6, ["evil"]]]), 422],
      ["a bad name", rpm("../bad", "1", "1"), 422],
      ["a bad version", rpm("bad", "1-2", "1"), 422],
      [
        "a file in no directory",
        rpm("bad", "1", "1", [
          [1116, 4, [7]],
          [1117, 8, ["a"]],
        ]),
        422,
      ],
      ["other content", rpm("pad", "1.0~rc1", "1", [[1003, 4, [2]]]), 409],
    ];
    for (const [name, content, status] of cases) {
      const answer = await put(content);
      expect(answer.status, `${name}: ${await answer.text()}`).to.equal(status);
    }
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
  });

  describe("by gpgv", () => {
    needsProgram("gpg", "gpgv");

    it("signs its root", async () => {
      const root = await bytes(`${base}/repodata/repomd.xml`);
      const signature = await bytes(`${base}/repodata/repomd.xml.asc`);
      expect(await verified(base, signature, root)).to.contain("Good signature");
    });
  });

  describe("and dnf", () => {
    needsProgram("dnf", "rpmbuild");

    it("finds and downloads what rpmbuild made, and trusts the root by its key", async () => {
      const cwd = await temporaryDirectory();
      const spec = `Name: real
Version: 1.2
Release: 3
Summary: Real
License: MIT
BuildArch: noarch
%description
Really
%install
mkdir -p %{buildroot}/usr/share/real
echo 1 > %{buildroot}/usr/share/real/one
%files
/usr/share/real
`;
      await writeFile(path.join(cwd, "real.spec"), spec);
      const env = { ...process.env, HOME: cwd };
      await run("rpmbuild", ["-bb", `--define=_topdir ${cwd}`, "real.spec"], { cwd, env });
      const built = await readFile(path.join(cwd, "RPMS", "noarch", "real-1.2-3.noarch.rpm"));
      const answer = await put(built);
      expect(answer.status, await answer.text()).to.equal(201);
      const repository = `[forge]
name=forge
baseurl=${base}
username=anna
password=${anna.token}
enabled=1
gpgcheck=0
repo_gpgcheck=1
gpgkey=${withLogin(base)}/repository.key
`;
      await mkdir(path.join(cwd, "repos"));
      await writeFile(path.join(cwd, "repos", "forge.repo"), repository);
      const dnf = (...args: string[]) =>
        run(
          "dnf",
          [
            ...["-y", "--installroot", path.join(cwd, "root"), "--releasever=1"],
            ...[`--setopt=reposdir=${path.join(cwd, "repos")}`, `--setopt=cachedir=${cwd}`],
            ...[`--setopt=persistdir=${cwd}`, `--setopt=logdir=${cwd}`, "--disableplugin=*"],
            ...args,
          ],
          { cwd, env },
        );
      const found = await dnf("repoquery", "--whatprovides", "/usr/share/real/one");
      expect(found.stdout).to.contain("real-0:1.2-3.noarch");
      await dnf("install", "--downloadonly", "--destdir", path.join(cwd, "out"), "real");
      expect(await readdir(path.join(cwd, "out"))).to.include("real-1.2-3.noarch.rpm");
    }).timeout(240_000);
  });
});
