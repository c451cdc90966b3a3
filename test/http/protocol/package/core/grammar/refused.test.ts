import { expect } from "chai";

import { startRegistryApp } from "../../../../../support/client/registry.ts";
import { zip } from "../../../../../support/git/archive.ts";
import {
  type Cases,
  chartNeeds,
  each,
  gemNeeds,
  number,
  sender,
} from "../../../../../support/package/grammar-case.ts";
import { type Sending, sendings } from "../../../../../support/package/parsed-upload.ts";

const { anna, at, baseOf } = await startRegistryApp();

const send = sender({ anna, baseOf });
const { npm, cargo, pypi, composer, rubygem, helm, debian, cran, conda, go, rpm, conan } = sendings;

/** For Composer: one kind of link meets all of them, the others a third each. */
const noConstraints = [
  "foo",
  "~>1.0",
  "~ 1.0",
  "1|^ 1.0",
  "= =1",
  "dev-a  as 1",
  "=>1.0",
  "1.0 ||",
  "(^1.0)",
  "$x$",
  "",
  "===1.0",
];

/**
 * From the grammars and tests of the clients: semver and npm-package-arg (npm), semver and cargo_manifest (cargo),
 * packaging (pip, uv), composer/semver and ArrayLoader (Composer), Gem::Version and Gem::Requirement, Masterminds/semver
 * and chart.Metadata (Helm), deb-version(7) and apt's ParseDepends, R's package_version(), conda's VersionOrder and
 * MatchSpec, x/mod/semver and x/mod/modfile (Go).
 */
const refused: Readonly<Record<string, readonly Cases[]>> = {
  npm: [
    each(["1", "1.0", "1.0.0-01", "1.0.0-a..b", "v", "1.0.0-", "$version$"], (version) =>
      npm({ name: "tool", version }),
    ),
    each(["a b", "npm:@/x@1", "~$x$", "~a b", "a@b:c"], (range, n) =>
      npm({ name: "tool", version: number(n), dependencies: { other: range } }),
    ),
    each([" a", ".a", "_a", "a b", "a/b", "@/a", "$id$"], (name, n) =>
      npm({ name: "tool", version: number(n), dependencies: { [name]: "1" } }),
    ),
    { number: npm({ name: "tool", version: "1.1.0", peerDependencies: { other: 1 } }) },
    { list: npm({ name: "tool", version: "1.1.0", dependencies: ["other"] }) },
    { os: npm({ name: "tool", version: "1.1.0", os: { linux: true } }) },
  ],
  cargo: [
    each(["1", "1.0", "01.0.0", "1.0.0-01", "1.0.0-a..b", "v1.0.0", "$version$"], (version) =>
      cargo("tool", version),
    ),
    each(
      ["1 || 2", "1 2", "~>1", "==1", "1.2-alpha", "1.2.3-01", ">1 <2", ">=", "1,"],
      (range, n) =>
        cargo(
          "tool",
          number(n),
          `[dependencies]\nother = ${JSON.stringify({ version: range }).replace('":', '" =').replace('"version"', "version")}\n`,
        ),
    ),
    each(["a b", "1a", "é", "a.b", "a/b"], (name, n) =>
      cargo("tool", number(n), `[dependencies]\n"${name}" = "1"\n`),
    ),
    each(["cfg(", "cfg()", "cfg(not(a,b))", "cfg(a=b)", "a b", "cfg(a-b)"], (target, n) =>
      cargo("tool", number(n), `[target.'${target}'.dependencies]\nother = "1"\n`),
    ),
    each(["+a", "a b", "a/b", ""], (name, n) =>
      cargo("tool", number(n), `[features]\n"${name}" = []\n`),
    ),
  ],
  pypi: [
    each(["foo", "1.0-a.b", "1.0..1", "$version$"], (version) => pypi("tool", version)),
    each([">=3.6 <4", "3.6", "^3.6", "=3", ">=$version", "~=3"], (text, n) =>
      pypi("tool", number(n), `Requires-Python: ${text}\n`),
    ),
    each(
      ["-a", "a b", "a>=^1", "a[x", "a; foo=='x'", "a; python_version", "a; os_name='nt'", "a @"],
      (text, n) => pypi("tool", number(n), `Requires-Dist: ${text}\n`),
    ),
    each(["-x", "a b"], (text, n) => pypi("tool", number(n), `Provides-Extra: ${text}\n`)),
  ],
  composer: [
    each(["foo", "1.0-foo", "1.2.3.4.5", "1..0", "$version$"], (version) =>
      composer(version, { name: "acme/tool" }),
    ),
    ...["require", "conflict", "provide", "replace"].map((link, index) =>
      each(
        index === 0 ? noConstraints : noConstraints.slice(4 * index - 4, 4 * index),
        (range, n) => composer(number(n), { name: "acme/tool", [link]: { "acme/other": range } }),
      ),
    ),
    { number: composer("1.1.0", { name: "acme/tool", require: { php: 8 } }) },
    { list: composer("1.1.0", { name: "acme/tool", require: ["php"] }) },
    { autoload: composer("1.1.0", { name: "acme/tool", autoload: "src" }) },
    { bin: composer("1.1.0", { name: "acme/tool", bin: [1] }) },
    { archive: composer("1.1.0", { name: "acme/tool", archive: { exclude: "x" } }) },
    { archiveName: composer("1.1.0", { name: "acme/tool", archive: { name: ["x"] } }) },
    { installed: composer("1.1.0", { name: "acme/tool", "installation-source": [] }) },
    { extension: composer("1.1.0", { name: "acme/tool", "php-ext": "x" }) },
    { target: composer("1.1.0", { name: "acme/tool", require: { 0: "1.0" } }) },
    { alias: composer("1.1.0", { name: "acme/tool", extra: { "branch-alias": { "dev-x": 1 } } }) },
  ],
  rubygem: [
    each(["a", "1.0-", "1..0", "1.0 beta", "$version$", "1.0_1"], (version) =>
      rubygem("tool", version),
    ),
    each(["a", "1..0", "$version$", "1.0 b"], (version, n) =>
      rubygem("tool", number(n), gemNeeds(version)),
    ),
    { format: rubygem("tool", "1.1.0", "dependencies: []\nspecification_version: x\n") },
    {
      empty: rubygem(
        "tool",
        "1.1.0",
        gemNeeds("1.0").replace(/requirements:\n.*\n.*\n.*\n/, "requirements: []\n"),
      ),
    },
    each(["^", "~", "=>", "=="], (by, n) => rubygem("tool", number(n), gemNeeds("1.0", by))),
  ],
  helm: [
    each(["1", "1.0", "01.0.0", "1.0.0-01", "1.0.0-a..b", "v1.0.0"], (version) =>
      helm("tool", version),
    ),
    each([">= a", "1.0.0.0", "~>>1", "1.0 |||| 2", ">=", "1 - ", "$version$"], (range, n) =>
      helm("tool", number(n), chartNeeds(range)),
    ),
    each(["a b", "a.b"], (alias, n) =>
      helm("tool", number(n), chartNeeds("1.0.0", `  alias: ${alias}\n`)),
    ),
    { twice: helm("tool", "1.1.0", chartNeeds("1.0.0", "- name: other\n")) },
    { kubeVersion: helm("tool", "1.1.0", 'apiVersion: v2\nkubeVersion: ">= a.b"\n') },
    { apiVersion: helm("tool", "1.1.0", "apiVersion: v9\n") },
  ],
  debian: [
    each(["1.0-", "1:", ":1", "a b", "1_0", "x:1.0"], (version) => debian("tool", version)),
    each(
      [
        `\${shlibs:Depends}`,
        "other (1.0)",
        "other (>= )",
        "other (=> 1)",
        "a b",
        "other (>= 1",
        "-a",
        "a |",
        "other (>= 1-)",
      ],
      (text, n) => debian("tool", number(n), `Depends: ${text}\n`),
    ),
    each(["a | b", "a (>>> 1)"], (text, n) => debian("tool", number(n), `Provides: ${text}\n`)),
  ],
  cran: [
    each(["1", "1.a", "1.0.0-alpha", "1..0", "v1.0"], (version) => cran("tool", version)),
    each(
      ["R (>= x)", "R (3.5)", "R (>= 3.5", "other (=> 1)", "a b", "R (>= 3..5)", "$x$"],
      (text, n) => cran("tool", number(n), `Depends: ${text}\n`),
    ),
    each(["other (>= 1.a)", "other >= 1"], (text, n) =>
      cran("tool", number(n), `Imports: ${text}\n`),
    ),
  ],
  conda: [
    each(["1..0", "1.0-a_b", "1.0+a+b", "1!2!3", "a!1", "1.0."], (version) =>
      conda("tool", version),
    ),
    each(
      ["other >=1..0", "other ==", "-other 1", "other >>1", "other (>=1", "a 1 b c", "$x"],
      (text, n) => conda("tool", number(n), { depends: [text] }),
    ),
  ],
  go: [
    each(["v1.0.0-01", "v1.0", "v1.0.0-a..b", "v01.0.0", "1.0.0"], (version) =>
      go("example.org/tool", version),
    ),
    each(
      [
        "go x",
        "require other",
        "require a/b v1.x",
        "retract x",
        "retract [v1.0.0]",
        "require (",
        "module x",
        'require "a v1.0.0',
        ")",
      ],
      (line, n) => go("example.org/tool", `v1.0.${n}`, `${line}\n`),
    ),
  ],
  // rpm's build/parsePreamble.c, conan's model/recipe_ref.py.
  rpm: [
    each(["1-0", "1 0", "1/0", "", "$version$"], (version) => rpm("tool", version)),
    each(["1-0", "1 0", ""], (release) => rpm("tool", "1.0", release)),
    each(["-tool", "a b", "a/b", ""], (name) => rpm(name, "1.0")),
  ],
  conan: [
    each(["-1", "1 0", "1@0", "$v"], (version) => conan("tool", version)),
    each(["-tool", "a b", "a@b"], (name) => conan(name, "1.0")),
  ],
};

for (const [type, all] of Object.entries(refused)) {
  describe(`a repository of ${type}`, () => {
    before(() => at.local(type, type));

    it("refuses what its client cannot parse", async () => {
      for (const [what, sending] of all.flatMap(Object.entries) as [string, Sending][]) {
        const { status, text } = await send(type, sending);
        expect(status, `${JSON.stringify(what)}: ${text}`).to.be.oneOf(
          type === "conan" ? [404, 422] : [400, 422],
        );
      }
    }).timeout(60_000);
  });
}

describe("a wheel", () => {
  for (const file of ["WHEEL", "RECORD"]) {
    it(`is refused without ${file}, which no installer takes`, async () => {
      const other = file === "WHEEL" ? "RECORD" : "WHEEL";
      const { body: whole, ...sending } = pypi("bare", "1.0");
      const begin = whole.indexOf("PK");
      const content = zip([
        ["bare-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: bare\nVersion: 1.0\n"],
        [`bare-1.0.dist-info/${other}`, ""],
      ]);
      const end = whole.lastIndexOf("\r\n--");
      const body = Buffer.concat([whole.subarray(0, begin), content, whole.subarray(end)]);
      const { status, text } = await send("pypi", { ...sending, body });
      expect([status, text.includes(`It holds no ${file}.`)], text).to.deep.equal([422, true]);
    });
  }
});
