import { expect } from "chai";

import { composerName, composerVersion } from "../../../src/package/composer/format.ts";
import { condaNames } from "../../../src/package/conda/format.ts";
import {
  mustBeShort,
  type PackageVersionName,
  packageIdOf,
  packageVersionIdOf,
} from "../../../src/package/core/coordinates.ts";
import { genericName, plainVersion } from "../../../src/package/generic/format.ts";
import { mavenBaseVersion, mavenName } from "../../../src/package/maven/format.ts";
import { npmName, npmVersion } from "../../../src/package/npm/format.ts";
import { nugetName, nugetVersion } from "../../../src/package/nuget/format.ts";
import { pypiName, pypiVersion } from "../../../src/package/pypi/format.ts";
import { expectLinear } from "../../support/app/growth.ts";
import { refused } from "../../support/app/refused.ts";

/** Each group is one version in many spellings, and no group is another's. */
const versions: Readonly<
  Record<string, readonly [(text: string) => PackageVersionName, readonly (readonly string[])[]]>
> = {
  generic: [plainVersion, [["1.0"], ["1.0.0"], ["v1.0"], ["1.0-RC"], ["1.0-rc"], ["latest"]]],
  npm: [npmVersion, [["1.0.0", "v1.0.0", "1.0.0+build.5"], ["1.0.0-rc.1"], ["1.0.0-RC.1"]]],
  pypi: [
    pypiVersion,
    [
      ["1", "1.0", "1.0.0", "v1.0", "01.0"],
      ["1.0rc1", "1.0.RC-1", "1.0c1", "1.0-pre_1", "1.0.0.preview1"],
      ["1.0.post2", "1.0-2", "1.0.r2"],
      ["1.0.dev0", "1.dev"],
      ["1!1.0", "1!1"],
      ["1.0+ubuntu.1", "1.0+Ubuntu-1", "1.0.0+ubuntu_01"],
      ["1.0.1"],
      ["10"],
    ],
  ],
  nuget: [
    nugetVersion,
    [
      ["1.0.0", "1.0", "1", "1.0.0.0", "01.00", "1.0.0+sha.12"],
      ["1.0.0.1"],
      ["1.0.0-beta", "1.0-BETA", "1.0.0-Beta+x"],
      ["1.0.0-beta.1"],
    ],
  ],
  composer: [
    composerVersion,
    [["1.0.0", "v1.0", "1.0.0.0"], ["1.0.0-RC1", "v1.0-rc1"], ["dev-main", "DEV-main"], ["1.1"]],
  ],
};

describe("a version of a package", () => {
  for (const [type, [name, groups]] of Object.entries(versions)) {
    it(`of type ${type} is the same in every spelling its ecosystem knows`, () => {
      const keys = groups.map((spellings) => {
        const [key, ...others] = new Set(spellings.map((text) => name(text).key));
        expect(others, spellings.join()).to.deep.equal([]);
        return key;
      });
      expect(new Set(keys).size, keys.join()).to.equal(groups.length);
    });
  }

  it("is refused where its ecosystem knows no such version", async () => {
    for (const [name, texts] of [
      [plainVersion, ["", "-1", ".1", "a/b", "a b", "version-list", "package-file", "ä"]],
      [
        npmVersion,
        ["1", "1.0", "latest", "1.0.0.0", "01.0.0", "1.0.0-", `1.0.0-${"x".repeat(300)}`],
      ],
      [pypiVersion, ["", "latest", "1.0-foo", "1..0", "1.0+", "20261121123456789", "1.0+a..b"]],
      [nugetVersion, ["", "1.0.0.0.0", "v1.0", "1.0-", "1.a", "1.0.0-é", "1".repeat(16)]],
      [composerVersion, ["", "/", "a b"]],
    ] as const) {
      for (const text of texts) await refused(() => name(text), "package.version_invalid");
    }
  });

  it("is the snapshot's for a build of a Maven snapshot", () => {
    expect(mavenBaseVersion("1.0-20261121.120000-3")).to.equal("1.0-SNAPSHOT");
    for (const other of ["1.0", "1.0-SNAPSHOT", "1.0-20261121", "20261121.120000-3"]) {
      expect(mavenBaseVersion(other)).to.equal(other);
    }
  });
});

describe("the name of a package", () => {
  it("is the same in every spelling its ecosystem knows", () => {
    const keys = (names: readonly Readonly<{ key: string }>[]) => [
      ...new Set(names.map(({ key }) => key)),
    ];
    expect(keys(["Foo.Bar", "foo__bar", "FOO-_.bar"].map(pypiName))).to.deep.equal(["foo-bar"]);
    expect(keys(["Newtonsoft.Json", "newtonsoft.json"].map(nugetName))).to.have.length(1);
    expect(keys([npmName("@acme", "pad"), npmName("acme", "pad")])).to.deep.equal(["@acme/pad"]);
    expect(keys([npmName("acme", "pad"), npmName(undefined, "pad")])).to.have.length(2);
    expect(keys(["Tool", "tool"].map(genericName))).to.have.length(2);
    expect(keys([mavenName("org.a", "b"), mavenName("org.A", "b")])).to.have.length(2);
  });

  it("keeps its parts", () => {
    const parts = { groupId: "@acme", artifactId: "pad", name: "@acme/pad" };
    expect(npmName("acme", "pad")).to.include(parts);
    expect(mavenName("org.acme", "pad")).to.include({ groupId: "org.acme", name: "org.acme:pad" });
    expect(composerName("acme", "pad")).to.include({ groupId: "acme", name: "acme/pad" });
    expect(pypiName("Pad")).to.include({ groupId: "", artifactId: "Pad", name: "Pad" });
  });

  it("is refused where its ecosystem knows no such name", async () => {
    const names: readonly (() => unknown)[] = [
      ...["", ".", "..", "a/b", "ä", "a".repeat(256)].map((name) => () => genericName(name)),
      ...["", "a.", "_a", "a-", "a b"].map((name) => () => pypiName(name)),
      ...["", ".a", "_a", "A", "node_modules", "a/b"].map((name) => () => npmName(undefined, name)),
      ...["", "@", "@@a", "A", "a b"].map((scope) => () => npmName(scope, "a")),
      () => npmName("a", "b".repeat(213)),
      ...["", "a.", ".a", "a--b", "a..b", "a".repeat(101)].map((name) => () => nugetName(name)),
      ...["", "a..b", "..", ".", "a.", "a b", "a:b"].map((group) => () => mavenName(group, "b")),
      ...["", "a..b", "a:b"].map((artifact) => () => mavenName("a", artifact)),
      ...["", "A", "a__b", "-a", "a b", "a--b"].map((vendor) => () => composerName(vendor, "a")),
      ...["", "A", "a---b", "a_"].map((artifact) => () => composerName("a", artifact)),
    ];
    for (const name of names) await refused(name, "package.name_invalid");
  });

  it("is checked in a time that does not explode", async () => {
    const names = [nugetName, pypiName, (text: string) => composerName(text, text)];
    for (const [pieces, checks] of [
      [["a", "a-"], names],
      [["1."], [pypiVersion]],
    ] as const) {
      for (const piece of pieces) {
        const near = (bytes: number) => `${piece.repeat(bytes / piece.length)}!`;
        for (const check of checks) {
          expect(() => check(near(30))).to.throw();
          await expectLinear(30, near, check);
        }
      }
    }
  });

  it("is refused when it, its version or its file's name is too long to be indexed", async () => {
    const version = composerVersion("1.0");
    const given = { packageName: composerName("acme", "pad"), version, fileName: "é".repeat(256) };
    mustBeShort(given);
    mustBeShort({ ...given, version: plainVersion("1".repeat(512)) });
    const long = "a".repeat(513);
    for (const other of [
      { packageName: composerName("acme", long) },
      { packageName: { ...given.packageName, name: "a", groupId: long } },
      { fileName: `${given.fileName}a` },
      condaNames("noarch", `${long}-1.0-0.conda`),
    ]) {
      await refused(() => mustBeShort({ ...given, ...other }), "package.name_invalid");
    }
    for (const of of [plainVersion(long), nugetVersion(`1.0-${long}`)]) {
      await refused(() => mustBeShort({ ...given, version: of }), "package.version_invalid");
    }
  });

  it("gives the same ids for the same, and others for others", () => {
    const id = packageIdOf("instance", "pypi", pypiName("Foo.Bar"));
    expect(packageIdOf("instance", "pypi", pypiName("foo-bar"))).to.equal(id);
    expect(packageIdOf("instance", "generic", genericName("foo-bar"))).not.to.equal(id);
    expect(packageIdOf("elsewhere", "pypi", pypiName("foo-bar"))).not.to.equal(id);
    const version = (text: string) => packageVersionIdOf(id, pypiVersion(text));
    expect(version("1.0")).to.equal(version("1"));
    expect(version("1.1")).not.to.equal(version("1"));
  });
});
