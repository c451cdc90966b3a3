import { expect } from "chai";

import { isComposerDev, normalizedComposerVersion } from "../../../src/package/composer/format.ts";
import { conanPattern } from "../../../src/package/conan/format.ts";
import { compareNuget, isSemVer2 } from "../../../src/package/nuget/format.ts";
import { expectLinear } from "../../support/app/growth.ts";

/** Each is before all that follow it. */
const ascending: Readonly<
  Record<string, readonly [(a: string, b: string) => number, readonly string[]]>
> = {
  nuget: [
    compareNuget,
    [
      ...["0.9.0", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta"],
      ...["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc-2", "1.0.0", "1.0.0.1", "1.2.0", "1.10.0"],
    ],
  ],
};

describe("the order of versions", () => {
  for (const [name, [compare, versions]] of Object.entries(ascending)) {
    it(`is that of ${name}`, () => {
      for (const [at, version] of versions.entries()) {
        expect(compare(version, version), version).to.equal(0);
        for (const later of versions.slice(at + 1)) {
          expect(compare(version, later), `${version} < ${later}`).to.equal(-1);
          expect(compare(later, version), `${later} > ${version}`).to.equal(1);
        }
      }
      expect([...versions].reverse().sort(compare)).to.deep.equal(versions);
    });
  }
});

describe("versions of NuGet", () => {
  it("need SemVer 2 for dots in the pre-release and for build metadata", () => {
    expect(["1.0-a.1", "1.0+x", "1.0-a+x"].map(isSemVer2)).to.deep.equal([true, true, true]);
    expect(["1.0.0.0", "1.0-a", "1.0-a-b"].map(isSemVer2)).to.deep.equal([false, false, false]);
  });
});

describe("versions of Composer", () => {
  it("are normalised as Composer does", () => {
    const cases = {
      "1.0": "1.0.0.0",
      "v1.2.3": "1.2.3.0",
      "1.2.3.4": "1.2.3.4",
      "1.0-beta": "1.0.0.0-beta",
      "1.0.0-rc1": "1.0.0.0-RC1",
      "1.0.0RC.2": "1.0.0.0-RC2",
      "1.0-alpha.3": "1.0.0.0-alpha3",
      "1.0-p2": "1.0.0.0-patch2",
      "1.0-p-2.31": "1.0.0.0-patch2.31",
      "1.0-stable": "1.0.0.0",
      "1.0+build.5": "1.0.0.0",
      "1.0-dev": "1.0.0.0-dev",
      "1.x-dev": "1.9999999.9999999.9999999-dev",
      "dev-main": "dev-main",
      main: "dev-main",
    };
    for (const [version, normalized] of Object.entries(cases)) {
      expect(normalizedComposerVersion(version), version).to.equal(normalized);
    }
    expect(["dev-main", "1.0.0.0-dev"].every(isComposerDev)).to.equal(true);
    expect(isComposerDev("1.0.0.0-beta")).to.equal(false);
  });

  it("are normalised in a time that grows with their length", async () => {
    for (const piece of ["1", "1.", "-1", ".", "-", "1.1-", "p1", "-dev"]) {
      const near = (bytes: number) => `1.0.0-p${piece.repeat(bytes / piece.length)}x`;
      await expectLinear(3, near, normalizedComposerVersion);
      await expectLinear(8 * 1024, near, normalizedComposerVersion);
    }
  });
});

describe("a search for recipes of Conan", () => {
  it("finds by wildcards, by the first parts and without case", () => {
    const names = ["zlib/1.3", "zlib/1.3@Acme/stable", "zlib-ng/2.1", "openssl/3.0", "a+b/1"];
    const cases = {
      "*": names,
      "***": names,
      ZLIB: ["zlib/1.3", "zlib/1.3@Acme/stable"],
      "zlib/1.3": ["zlib/1.3", "zlib/1.3@Acme/stable"],
      "zlib*": names.slice(0, 3),
      "*lib/?.3": ["zlib/1.3", "zlib/1.3@Acme/stable"],
      "*@acme/*": ["zlib/1.3@Acme/stable"],
      "*/3*": ["openssl/3.0"],
      "zli?": ["zlib/1.3", "zlib/1.3@Acme/stable"],
      "a+b": ["a+b/1"],
      "zl.b": [],
      zli: [],
      "": [],
    };
    for (const [pattern, found] of Object.entries(cases)) {
      expect(names.filter(conanPattern(pattern)), pattern).to.deep.equal(found);
    }
  });

  it("is bounded for every pattern", async () => {
    for (const piece of ["*a", "**a", "*?", "*", "?", "*/"]) {
      const pattern = `${piece.repeat(99 / piece.length)}!`;
      await expectLinear(50, (count) => "a".repeat(count), conanPattern(pattern));
    }
  });
});
