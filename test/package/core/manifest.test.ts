import { expect } from "chai";

import { readComposerPackage } from "../../../src/package/composer/format.ts";
import { cranPlace, parseDcf } from "../../../src/package/cran/format.ts";
import { debianPlace, parseControl, readDeb } from "../../../src/package/debian/format.ts";
import { moduleNamed } from "../../../src/package/go/format.ts";
import { chartOf } from "../../../src/package/helm/format.ts";
import { checkNpmTarball, npmName, npmVersion } from "../../../src/package/npm/format.ts";
import { readNuspec } from "../../../src/package/nuget/format.ts";
import { checkPypiFile, pypiName, pypiVersion } from "../../../src/package/pypi/format.ts";
import { rpmFilesOf } from "../../../src/package/rpm/format.ts";
import { parseRpmHeader } from "../../../src/package/rpm/header.ts";
import { gemYaml, readGem } from "../../../src/package/rubygem/format.ts";
import { refused } from "../../support/app/refused.ts";
import {
  type ArchiveFile,
  ar,
  composerZip,
  deb,
  debControl,
  filesOf,
  npmTarball,
  nupkg,
  rpmHeader,
  tar,
  tgz,
  wheel,
  zip,
} from "../../support/git/archive.ts";

const fileOf = await filesOf();

describe("a tarball of npm", () => {
  const check = async (content: Buffer, name = npmName("acme", "pad"), version = "1.0.0") =>
    checkNpmTarball(await fileOf(content), name, npmVersion(version));

  it("has to say the name and the version it is sent as", async () => {
    const manifest = { name: "@acme/pad", version: "v1.0.0+5" };
    expect(await check(npmTarball(manifest))).to.equal(null);
    for (const [other, what] of [
      [{ ...manifest, name: "@evil/pad" }, "name is @acme/pad, but the file says @evil/pad"],
      [{ ...manifest, name: "pad" }, "name"],
      [{ ...manifest, version: "1.0.1" }, "version is 1.0.0, but the file says 1.0.1"],
    ] as const) {
      await refused(() => check(npmTarball(other)), "package.file_mismatch", what);
    }
  });

  it("says what it requires of Node, where it does so in words", async () => {
    const manifest = { name: "@acme/pad", version: "1.0.0" };
    const engines = (engines: unknown) => check(npmTarball({ ...manifest, engines }));
    expect(await engines({ node: ">=20" })).to.equal(">=20");
    for (const odd of [{}, [], null, "x", { node: 5 }]) expect(await engines(odd)).to.equal(null);
  });

  it("is refused with a package.json that is none", async () => {
    const malformed = "package.file_malformed";
    await refused(() => check(tgz([["package/package.json", "{"]])), malformed, "not JSON");
    await refused(() => check(npmTarball({})), malformed, "name, version");
    await refused(() => check(npmTarball({ name: "@acme/pad", version: 1 })), malformed, "version");
    const none = npmTarball({ name: "@acme/pad", version: "newest" });
    await refused(() => check(none), malformed, "version");
    await refused(() => check(tgz([["package.json", "{}"]])), malformed, "holds no package.json");
  });
});

describe("a package of NuGet", () => {
  const read = async (content: Buffer) => readNuspec(await fileOf(content));
  const nuspec = (text: string, name = "a.nuspec") => zip([[name, text]]);
  const metadata = (text: string) => nuspec(`<package><metadata>${text}</metadata></package>`);

  it("is named by the manifest in it", async () => {
    const { packageName, version, fileName } = await read(nupkg("Acme.Pad", "1.0.0.0"));
    expect(packageName).to.include({ name: "Acme.Pad", key: "acme.pad" });
    expect([version.version, fileName]).to.deep.equal(["1.0.0.0", "acme.pad.1.0.0.nupkg"]);
    expect((await read(metadata("<id> A </id><version> 1 </version>"))).fileName).to.equal(
      "a.1.0.0.nupkg",
    );
  });

  it("is refused when the manifest does not say one thing", async () => {
    for (const [content, why] of [
      [metadata("<id>a</id>"), "no id or no version"],
      [metadata("<version>1</version>"), "no id or no version"],
      [metadata("<id>a</id><id>b</id><version>1</version>"), "id more than once"],
      [nuspec("<package/>"), "no id or no version"],
      [nuspec("<other/>"), "no manifest"],
      [nuspec("<package>"), "refused"],
      [nuspec(""), "refused"],
      [nuspec('<!DOCTYPE a [<!ENTITY b "c">]><package>&b;</package>'), "document type"],
      [nuspec("<a>".repeat(5_001)), "proportion"],
      [nuspec("x", "deep/a.nuspec"), "holds no .nuspec"],
      [zip([]), "holds no .nuspec"],
    ] as const) {
      await refused(() => read(content), "package.file_malformed", why);
    }
    await refused(
      () => read(metadata("<id>../a</id><version>1</version>")),
      "package.name_invalid",
    );
    await refused(
      () => read(metadata("<id>a</id><version>x</version>")),
      "package.version_invalid",
    );
  });

  it("does not bring us down by its depth", async () => {
    const deep = `${"<a>".repeat(2_400)}${"</a>".repeat(2_400)}`;
    const content = metadata(`<id>a</id><version>1</version>${deep}`);
    expect((await read(content)).packageName.name).to.equal("a");
    await refused(
      () => read(metadata(`<id>${deep}</id><version>1</version>`)),
      "package.file_malformed",
    );
  });

  it("is refused when it holds symbols alone", async () => {
    const types = '<packageTypes><packageType name="SymbolsPackage"/></packageTypes>';
    await refused(() => read(nupkg("a", "1", types)), "package.file_malformed", "symbols");
    const tool = '<packageTypes><packageType name="DotnetTool"/></packageTypes>';
    expect((await read(nupkg("a", "1", tool))).fileName).to.equal("a.1.0.0.nupkg");
  });
});

describe("a zip of Composer", () => {
  const read = async (content: Buffer, version = "v1.0") =>
    readComposerPackage(await fileOf(content), version);

  it("is named by the composer.json in it, at the root or one directory below", async () => {
    for (const at of ["", "acme-pad-12ab34/"]) {
      const { packageName, fileName, languageVersion } = await read(
        composerZip({ name: "acme/pad", require: { php: ">=8.1" } }, at),
      );
      expect(packageName.name).to.equal("acme/pad");
      expect([fileName, languageVersion]).to.deep.equal(["acme-pad-1.0.0.zip", ">=8.1"]);
    }
  });

  it("is refused when it says another version, or none of ours", async () => {
    expect((await read(composerZip({ name: "a/b", version: "1.0.0" }))).version.version).to.equal(
      "v1.0",
    );
    const other = composerZip({ name: "a/b", version: "1.1" });
    await refused(() => read(other), "package.file_mismatch", "v1.0, but the file says 1.1");
    for (const name of ["a", "a/b/c", "A/b", "/", "../b"]) {
      await refused(() => read(composerZip({ name })), "package.name_invalid");
    }
    await refused(() => read(composerZip({})), "package.file_malformed", "name");
  });
});

describe("a file of a Python project", () => {
  const check = async (content: Buffer | string, fileName: string) =>
    checkPypiFile(
      await fileOf(Buffer.from(content)),
      fileName,
      pypiName("Acme.Pad"),
      pypiVersion("1.0"),
    );

  it("says what it requires of Python", async () => {
    const metadata = wheel("acme_pad", "1.0", "Requires-Python: >=3.9\n");
    expect(await check(metadata, "acme_pad-1.0-py3-none-any.whl")).to.equal(">=3.9");
    const plain = wheel("acme_pad", "1.0");
    expect(await check(plain, "acme_pad-1.0-py3-none-any.whl")).to.equal(null);
  });

  it("has to be of the project and version it is sent as", async () => {
    const name = "acme_pad-1.0-py3-none-any.whl";
    const cases: readonly (readonly [Buffer | string, string])[] = [
      [wheel("evil", "1.0"), name],
      [wheel("acme_pad", "1.1"), name],
      [wheel("acme_pad", "x"), name],
      [wheel("acme_pad", "1.0"), "evil-1.0-py3-none-any.whl"],
      [wheel("acme_pad", "1.0"), "acme_pad-2.0-py3-none-any.whl"],
      [wheel("acme_pad", "1.0"), "acme_pad.whl"],
      ["source", "evil-1.0.tar.gz"],
      ["source", "acme_pad-1.1.tar.gz"],
      ["source", "acme-pad-1.1.zip"],
    ];
    for (const [content, fileName] of cases) {
      await refused(() => check(content, fileName), "package.file_mismatch");
    }
    await refused(() => check("no wheel", name), "package.file_malformed");
    const empty = zip([["acme_pad-1.0.dist-info/METADATA", "Version: 1.0\n\nName: Acme.Pad\n"]]);
    await refused(() => check(empty, name), "package.file_malformed", "names no project");
  });

  it("may be a source archive or what goes along with one", async () => {
    for (const fileName of [
      "acme_pad-1.0.tar.gz",
      "Acme.Pad-1.0.0.zip",
      "acme_pad-1.0.tar.gz.asc",
    ]) {
      expect(await check("anything", fileName), fileName).to.equal(null);
    }
  });

  it("may have a local version, written as file names write it", async () => {
    const file = await fileOf(wheel("acme_pad", "1.0+ubuntu.1"));
    const name = "acme_pad-1.0+ubuntu_1-py3-none-any.whl";
    const version = pypiVersion("1.0+ubuntu-1");
    expect(await checkPypiFile(file, name, pypiName("acme-pad"), version)).to.equal(null);
  });
});

describe("fields of a manifest", () => {
  it("of Debian are one line each, with continuations that are not kept", async () => {
    const control =
      "Package: a\nVersion:1.0\nArchitecture: \t all \nMaintainer: A: b\nDescription: c\n d:\n .";
    const { fields } = parseControl(`${control}\n\n\n`.replaceAll("\n", "\r\n"));
    expect(Object.fromEntries(fields)).to.deep.equal({
      package: "a",
      version: "1.0",
      architecture: "all",
      maintainer: "A: b",
      description: "c",
    });
    for (const bad of [
      "a",
      ":a",
      "a b: c",
      "é: a",
      "package: a",
      "Size: 1",
      "X: a\u2028b",
      "\nX: a",
    ]) {
      await refused(() => parseControl(`${control}\n${bad}`), "package.file_malformed");
    }
  });

  it("of Debian are at most 256 KiB", async () => {
    const place = debianPlace("stable", "main");
    const read = async (bytes: number) => {
      const file = deb("pad", "1.0", "all", `X-More: ${"x".repeat(bytes)}\n`);
      return await readDeb(await fileOf(file), place);
    };
    expect((await read(255 * 1_024)).fileName).to.equal("pad_1.0_all.deb");
    await refused(() => read(256 * 1_024), "package.file_malformed", "over 262144 bytes");
  });

  it("of Debian are read from at most 4 MiB", async () => {
    const read = async (bytes: number) => {
      const control: ArchiveFile = ["./control", debControl("pad", "1.0", "all")];
      const packed = tar([control, ["./md5sums", Buffer.alloc(bytes)]]);
      const members: ArchiveFile[] = [
        ["debian-binary", "2.0\n"],
        ["control.tar", packed],
        ["data.tar.gz", tgz([])],
      ];
      return await readDeb(await fileOf(ar(members)), debianPlace("stable", "main"));
    };
    expect((await read(4 * 1024 ** 2 - 8 * 1_024)).fileName).to.equal("pad_1.0_all.deb");
    await refused(() => read(4 * 1024 ** 2), "package.file_malformed", "over 4194304 bytes");
  });

  it("of a gem are read from at most 4 MiB", async () => {
    for (const part of ["metadata.gz", "checksums.yaml.gz", "metadata.gz.sig"]) {
      const file = await fileOf(tar([[part, Buffer.alloc(4 * 1024 ** 2 + 1)]]));
      await refused(() => readGem(file), "package.file_malformed", `${part} is too large`);
    }
  });

  it("of R are joined with their continuations", async () => {
    const fields = parseDcf("Package: a\nTitle:\n  b\n \n\tc: d \r\nAuthors@R: e\n\n");
    expect([...fields]).to.deep.equal([
      ["Package", "a"],
      ["Title", "b c: d"],
      ["Authors@R", "e"],
    ]);
    for (const bad of [" a", "a", "a: b\na: c", ":a", "1: a", "a: b\n\nc: d"]) {
      await refused(() => parseDcf(bad), "package.file_malformed");
    }
  });

  it("of R are of a package below src/contrib or bin", async () => {
    const places = ["src/contrib", "bin/windows/contrib/4.4", "bin/macosx/big-sur/contrib/4.4"];
    expect(places.map((place) => cranPlace(place).ending)).to.deep.equal([
      ".tar.gz",
      ".zip",
      ".tgz",
    ]);
    for (const place of ["", "src", "src/contrib/4.4", "bin/linux/contrib/4.4", "a/src/contrib"]) {
      await refused(() => cranPlace(place), "package.name_invalid", "below src/contrib or bin/");
    }
  });

  it("of a chart and a gem are the last of their name, as their own tools take them", async () => {
    const chart = "apiVersion: v2\nname: a\nversion: 1.0.0\nname: b\n";
    expect(chartOf(chart).name).to.equal("b");
    expect(gemYaml("a: 1\na: 2\n", "specification")).to.deep.equal({ a: "2" });
    const long = `${chart}description: ${"a".repeat(128 * 1024)}\n`;
    await refused(() => chartOf(long), "package.file_malformed", "131072 bytes");
  });

  it("of Go name the module in one of the ways of a go.mod", () => {
    const named = ["module a.b/c", '\n// module x\n  module\t"a.b/c" // d', "module (\n\ta.b/c\n)"];
    for (const mod of named) expect(moduleNamed(mod), mod).to.equal("a.b/c");
    for (const mod of ["", "modulea", "go 1.22\n// module a", "module"]) {
      expect(moduleNamed(mod), mod).to.equal(undefined);
    }
  });
});

describe("a header of RPM", () => {
  const shared = (entries: Parameters<typeof rpmHeader>[0]) => {
    const content = rpmHeader(entries);
    // All entries are the values of the first one.
    for (let at = 32; at < 16 + entries.length * 16; at += 16)
      content.copy(content, at + 8, 24, 32);
    return parseRpmHeader(content);
  };

  it("is refused when its entries share more values than it could have", async () => {
    const many = Array.from({ length: 200_000 }, () => "");
    const header = shared([
      [1, 8, many],
      [2, 8, [""]],
      [3, 8, [""]],
    ]);
    expect(header.texts(1)).to.have.length(200_000);
    expect(header.texts(2)).to.have.length(200_000);
    await refused(() => header.texts(3), "package.file_malformed", "too many values");
  });

  it("is refused when a text in it is a number", async () => {
    const header = parseRpmHeader(rpmHeader([[1000, 4, [1]]]));
    expect(header.numbers(1000)).to.deep.equal([1]);
    await refused(() => header.text(1000), "package.file_malformed", "of another type");
  });

  it("is refused when its entries share more bytes than it has", async () => {
    const header = shared([
      [1, 6, ["a".repeat(1_000)]],
      [2, 6, [""]],
      [3, 6, [""]],
    ]);
    expect([header.text(1).length, header.text(2).length]).to.deep.equal([1_000, 1_000]);
    await refused(() => header.text(3), "package.file_malformed", "too many values");
  });

  it("is refused when the paths of its files are too long together", async () => {
    const filesIn = (directory: string) =>
      rpmFilesOf(
        parseRpmHeader(
          rpmHeader([
            [1117, 8, Array.from({ length: 33 }, () => "a")],
            [1116, 4, Array.from({ length: 33 }, () => 0)],
            [1118, 8, [directory]],
          ]),
        ),
      );
    expect(filesIn("/b/")).to.have.length(33);
    await refused(() => filesIn("/".repeat(1024 ** 2)), "package.file_malformed", "too long");
  });
});
