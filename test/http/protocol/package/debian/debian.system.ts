import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { eventually } from "../../../../support/app/eventually.ts";
import { nativeRegistry, run, sha256 } from "../../../../support/client/native-registry.ts";
import { ar, deb, debControl, tar, tgz } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { app, at, baseOf, withLogin, get, send, bytes, textOf, held, verified } =
  await nativeRegistry();

describe("a repository of Debian", () => {
  const base = baseOf("debs");
  const put = (content: Buffer, place = "stable/main", to = base) =>
    send("PUT", `${to}/pool/${place}/upload`, content);

  before(async () => {
    const one = await at.local("debs", "debian", { isDeletePackageAllowed: true });
    const two = await at.local("debs-two", "debian");
    await at.virtual("debs-all", "debian", {
      includedRepositoryUuids: [two.repositoryUuid, one.repositoryUuid],
    });
  });

  it("lists what was uploaded by distribution, component and architecture", async () => {
    expect((await get(`${base}/dists/stable/InRelease`)).status).to.equal(404);
    const content = deb("pad", "1:1.0~rc1+x-1", "amd64", "Depends: libc6\n");
    expect((await put(content)).status).to.equal(201);
    expect((await put(content)).status, "the same again").to.equal(201);
    expect((await put(deb("docs", "2.0", "all"))).status).to.equal(201);
    expect((await put(deb("pad", "3", "riscv64"), "testing/contrib")).status).to.equal(201);
    const release = await textOf(`${base}/dists/stable/Release`);
    expect(release).to.match(/^Suite: stable$/m);
    expect(release).to.match(/^Components: main$/m);
    expect(release).to.match(/^Architectures: amd64 arm64$/m);
    expect(release).to.match(/^Acquire-By-Hash: yes$/m);
    const list = await textOf(`${base}/dists/stable/main/binary-amd64/Packages`);
    const stanzas = list.trim().split("\n\n");
    expect(stanzas.map((stanza) => stanza.split("\n")[0])).to.deep.equal([
      "Package: pad",
      "Package: docs",
    ]);
    const [pad = ""] = stanzas;
    expect(pad).to.contain("Depends: libc6");
    expect(pad).to.contain(`SHA256: ${sha256(content)}`);
    const [, filename = ""] = /^Filename: (.+)$/m.exec(pad) ?? [];
    expect(await bytes(`${base}/${encodeURI(filename)}`)).to.deep.equal(content);
    const other = await textOf(`${base}/dists/testing/contrib/binary-riscv64/Packages`);
    expect(other).to.match(/^Version: 3$/m);
    const arm = await textOf(`${base}/dists/stable/main/binary-arm64/Packages`);
    expect(arm).to.contain("Package: docs").and.not.contain("Package: pad");
  });

  it("names every list by its hash, and keeps those of the last revision", async () => {
    const root = `${base}/dists/stable`;
    const packed = await bytes(`${root}/main/binary-amd64/Packages.gz`);
    const plain = gunzipSync(packed);
    expect(plain).to.deep.equal(await bytes(`${root}/main/binary-amd64/Packages`));
    const release = await textOf(`${root}/Release`);
    for (const [content, name] of [
      [packed, "Packages.gz"],
      [plain, "Packages"],
    ] as const) {
      const digest = sha256(content);
      expect(release).to.contain(` ${digest} ${content.length} main/binary-amd64/${name}\n`);
      const url = `${root}/main/binary-amd64/by-hash/SHA256/${digest}`;
      expect(await bytes(url)).to.deep.equal(content);
    }
    await put(deb("later", "1", "amd64"));
    const old = `${root}/main/binary-amd64/by-hash/SHA256/${sha256(packed)}`;
    expect(await textOf(`${root}/Release`)).to.not.equal(release);
    expect(await bytes(old), "after the next upload").to.deep.equal(packed);
    expect(
      (await get(`${root}/main/binary-amd64/by-hash/SHA256/${"0".repeat(64)}`)).status,
    ).to.equal(404);
  });

  it("merges members, the first one's first, and signs with a key of its own", async () => {
    await put(deb("docs", "2.0", "all", "Section: two\n"), "stable/main", baseOf("debs-two"));
    const list = await textOf(`${baseOf("debs-all")}/dists/stable/main/binary-amd64/Packages`);
    expect(list.match(/^Package: docs$/gm)).to.have.length(1);
    expect(list).to.contain("Section: two").and.contain("Package: pad");
    const keys = await Promise.all(
      ["debs", "debs", "debs-all"].map((name) => textOf(`${baseOf(name)}/repository.key`)),
    );
    expect(keys[0]).to.contain("BEGIN PGP PUBLIC KEY BLOCK");
    expect([keys[1] === keys[0], keys[2] === keys[0]]).to.deep.equal([true, false]);
  });

  it("refuses what is no package or has false fields, and deletes a version", async () => {
    const head = await app.head();
    const control = (text: string) =>
      ar([
        ["debian-binary", "2.0\n"],
        ["control.tar", tar([["control", text]])],
        ["data.tar", ""],
      ]);
    const whole = deb("bad", "1", "amd64");
    const cases: readonly (readonly [string, Buffer])[] = [
      ["nothing", Buffer.from("no package")],
      ["cut", whole.subarray(0, whole.length - 40)],
      [
        "format 3",
        ar([
          ["debian-binary", "3.0\n"],
          ["control.tar", ""],
          ["data.tar", ""],
        ]),
      ],
      ["no control", control("").subarray(0, 72)],
      ["an empty line", control(`${debControl("bad", "1", "amd64")}\nPackage: evil\n`)],
      ["a forged digest", control(debControl("bad", "1", "amd64", "SHA256: 00\n"))],
      ["a field twice", control(debControl("bad", "1", "amd64", "package: evil\n"))],
      ["no maintainer", control("Package: bad\nVersion: 1\nArchitecture: all\nDescription: x\n")],
      ["a bad name", control(debControl("Bad_name", "1", "amd64"))],
      ["a bad version", control(debControl("bad", "1_0", "amd64"))],
      ["a bad architecture", control(debControl("bad", "1", "../amd64"))],
      [
        "a bomb",
        ar([
          ["debian-binary", "2.0\n"],
          ["control.tar.gz", tgz([["control", Buffer.alloc(17 * 1024 ** 2)]])],
          ["data.tar", ""],
        ]),
      ],
      [
        "leads out",
        ar([
          ["debian-binary", "2.0\n"],
          ["control.tar.gz", tgz([["../control", "x"]])],
          ["data.tar", ""],
        ]),
      ],
    ];
    for (const [name, content] of cases) {
      const answer = await put(content);
      expect(answer.status, `${name}: ${await answer.text()}`).to.equal(422);
    }
    expect((await put(whole, "a%2fb/main")).status).to.equal(404);
    expect((await put(whole, "stable/-x")).status).to.equal(422);
    const other = await put(deb("docs", "2.0", "all", "Section: other\n"));
    expect(other.status, "other content, although OVERRIDE is on").to.equal(409);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
    expect((await send("DELETE", `${base}/pool/stable/main/later/1`)).status).to.equal(204);
    const list = await textOf(`${base}/dists/stable/main/binary-amd64/Packages`);
    expect(list).to.not.contain("Package: later");
  });

  describe("by gpgv", () => {
    needsProgram("gpg", "gpgv");

    it("is signed by its key, inline and apart", async () => {
      const signed = await bytes(`${base}/dists/stable/InRelease`);
      expect(await verified(base, signed)).to.contain("Good signature");
      const release = await bytes(`${base}/dists/stable/Release`);
      const signature = await bytes(`${base}/dists/stable/Release.gpg`);
      expect(await verified(base, signature, release)).to.contain("Good signature");
      expect(signed.toString()).to.contain(release.toString().trim());
    });
  });

  describe("and apt", () => {
    needsProgram("apt-get", "dpkg-deb", "gpgv");

    it("updates and downloads what dpkg-deb built", async () => {
      const cwd = await temporaryDirectory();
      await mkdir(path.join(cwd, "pad", "DEBIAN"), { recursive: true });
      await writeFile(
        path.join(cwd, "pad", "DEBIAN", "control"),
        debControl("real", "1.0-1", "all"),
      );
      for (const [index, kind] of ["xz", "gzip"].entries()) {
        await writeFile(
          path.join(cwd, "pad", "DEBIAN", "control"),
          debControl("real", `1.0-${index + 1}`, "all"),
        );
        await run("dpkg-deb", ["--build", `-Z${kind}`, "pad", `${kind}.deb`], { cwd });

        const answer = await put(await readFile(path.join(cwd, `${kind}.deb`)));
        expect(answer.status, `${kind}: ${await answer.text()}`).to.equal(201);
      }
      await writeFile(path.join(cwd, "key.asc"), await bytes(`${base}/repository.key`));
      for (const folder of ["lists/partial", "cache/archives/partial", "etc"]) {
        await mkdir(path.join(cwd, folder), { recursive: true });
      }
      await writeFile(path.join(cwd, "status"), "");
      const source = `deb [signed-by=${cwd}/key.asc] ${withLogin(base)} stable main\n`;
      await writeFile(path.join(cwd, "sources.list"), source);
      const config = [
        `Dir::State "${cwd}";`,
        `Dir::State::lists "${cwd}/lists";`,
        `Dir::State::status "${cwd}/status";`,
        `Dir::Cache "${cwd}/cache";`,
        `Dir::Etc::sourcelist "${cwd}/sources.list";`,
        `Dir::Etc::sourceparts "${cwd}/etc";`,
        `Dir::Etc::parts "${cwd}/etc";`,
        `Dir::Etc::trusted "${cwd}/etc/none.gpg";`,
        `Dir::Etc::trustedparts "${cwd}/etc";`,
        'APT::Architecture "amd64";',
        'APT::Sandbox::User "";',
        'Acquire::Languages "none";',
      ];
      await writeFile(path.join(cwd, "apt.conf"), config.join("\n"));
      const env = { ...process.env, APT_CONFIG: path.join(cwd, "apt.conf") };
      const { stdout, stderr } = await run("apt-get", ["update"], { cwd, env });
      expect(stderr, stdout).to.equal("");
      await run("apt-get", ["download", "real"], { cwd, env });
      expect(await readdir(cwd)).to.include("real_1.0-2_all.deb");
      // Metadata that changed twice in a second has its date a moment later.
      await eventually(async () => {
        const again = await run("apt-get", ["update"], { cwd, env });
        expect(again.stdout + again.stderr).to.not.match(/^(?:E|W|Err|Get)/m);
        return expect(again.stdout).to.match(/^Hit:/m);
      });
    }).timeout(240_000);
  });
});
