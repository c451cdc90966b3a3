import { expect } from "chai";

import { basicAuth } from "../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../support/client/registry.ts";
import { zip } from "../../../support/git/archive.ts";
import { type Sending, sendings } from "../../../support/package/parsed-upload.ts";

const { anna, at, baseOf } = await startRegistryApp();

async function send(type: string, { method, path, type: contentType, body }: Sending) {
  const headers = {
    authorization: basicAuth("anna", anna.token),
    "content-type": contentType ?? "application/octet-stream",
  };
  const sent = { method, headers, body: new Uint8Array(body) };
  const answer = await fetch(`${baseOf(type)}/${path}`, sent);
  return { status: answer.status, text: await answer.text() };
}

/** Uploads by what is in them. The last word of a path, or of a manifest, is what the client would parse. */
type Cases = Readonly<Record<string, Sending>>;
const each = (texts: readonly string[], sending: (text: string, n: number) => Sending): Cases =>
  Object.fromEntries(texts.map((text, n) => [text, sending(text, n)]));

const { npm, cargo, pypi, composer, rubygem, helm, debian, cran, conda, go, rpm, conan } = sendings;
const number = (n: number) => `1.0.${n}`;
const gemNeeds = (version: string, by = ">=") =>
  `dependencies:\n- !ruby/object:Gem::Dependency\n  name: other\n  requirement: !ruby/object:Gem::Requirement\n    requirements:\n    - - "${by}"\n      - !ruby/object:Gem::Version\n        version: "${version}"\n  type: :runtime\n`;
const chartNeeds = (version: string, more = "") =>
  `apiVersion: v2\ndependencies:\n- name: other\n  version: ${JSON.stringify(version)}\n  repository: ""\n${more}`;

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
    ...["require", "conflict", "provide", "replace"].map((link) =>
      each(
        [
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
        ],
        (range, n) => composer(number(n), { name: "acme/tool", [link]: { "acme/other": range } }),
      ),
    ),
    { number: composer("1.1.0", { name: "acme/tool", require: { php: 8 } }) },
    { list: composer("1.1.0", { name: "acme/tool", require: ["php"] }) },
    { autoload: composer("1.1.0", { name: "acme/tool", autoload: "src" }) },
    { bin: composer("1.1.0", { name: "acme/tool", bin: [1] }) },
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

const taken: Readonly<Record<string, readonly Cases[]>> = {
  npm: [
    each(
      [
        "",
        "*",
        "^1 || >=2 <3",
        "1 - 2",
        "latest",
        "npm:other@^1",
        "git+https://e.org/a.git#v1",
        "file:../x",
        "user/repo",
        "git@e.org:a/b.git",
        "workspace:^",
        "~1.x",
        "https://e.org/a b.tgz",
      ],
      (range, n) =>
        npm({ name: "taken", version: number(n), dependencies: { Other: range, "@a/b": range } }),
    ),
    {
      loose: npm({
        name: "taken",
        version: "1.1.0",
        engines: "node",
        bin: null,
        devDependencies: ["a"],
      }),
    },
  ],
  cargo: [
    each(
      ["1", ">=1, <2", "*", "1.*", "~1.2", "=1.2.3-alpha.1", "<1.x", ""].filter(Boolean),
      (range, n) =>
        cargo(
          "taken",
          number(n),
          `[features]\n"a+b" = ["dep:other", "other?/x", "b.c"]\n"b.c" = []\n[target.'cfg(all(unix, not(target_os = "linux")))'.dependencies]\nother = { version = "${range}", optional = true }\n`,
        ),
    ),
  ],
  pypi: [
    each([">=3.6,<4", "!=3.7.*,>=3", "~=3.8", ""], (text, n) =>
      pypi("taken", number(n), `Requires-Python: ${text}\n`),
    ),
    each(
      [
        "a",
        "a.b[x,y]>=1,<2 ; python_version < '3' and (os_name == 'nt' or extra == 'x')",
        "a (>=1)",
        "a @ https://e.org/a.zip ; 'x' not in sys_platform",
      ],
      (text, n) => pypi("taken", `2.0.${n}`, `Requires-Dist: ${text}\nProvides-Extra: x\n`),
    ),
  ],
  composer: [
    each(["1.0", "v1.2.3.4", "1.0-RC1", "dev-main", "2.x-dev", "20240101", "1.0.0+b"], (version) =>
      composer(version, { name: "acme/taken", require: [] }),
    ),
    each(
      [
        "^1.0 || ^2.0",
        ">= 1.0, < 2.0",
        "1.0 - 2.0",
        "1.*",
        "*",
        "dev-main#abc",
        "dev-main as 1.0",
        "@dev",
        "~1.2@beta",
        "^20240101",
        "1.0 - 9999999-dev",
        "self.version",
      ],
      (range, n) =>
        composer(`3.0.${n}`, { name: "acme/taken", require: { "acme/other": range, php: ">=8" } }),
    ),
  ],
  rubygem: [
    each(["0", "1.0.a.1", "2.0.0.pre1"], (version) =>
      rubygem("taken", version, gemNeeds(version, "~>")),
    ),
  ],
  helm: [
    each(["^1.x", ">= 1.0.0, < 2.0.0", "1.2 - 2", "~1.2.0-0 || 3", "*", "v1", ""], (range, n) =>
      helm(
        "taken",
        number(n),
        chartNeeds(range, "  alias: a_b-c\n").concat('kubeVersion: ">=1.20.0-0"\n'),
      ),
    ),
  ],
  debian: [
    each(["1:2.0~rc1-1", "a1", "1.0-1-2"], (version) => debian("taken", version)),
    each(
      ["a, b (>= 1:2.0~x-1) | c [amd64] <!nocheck>, d:any", "a(<<2)", "a (= 1.0), "],
      (text, n) => debian("taken", number(n), `Depends: ${text}\nProvides: v (= 1), w\n`),
    ),
    // Packages of Rust in Debian provide thousands of features.
    {
      features: debian("taken", "2.0", `Provides: ${"lib-feature-dev (= 2.0), ".repeat(4_000)}w\n`),
    },
  ],
  cran: [
    each(["R (>= 3.5.0), methods, other(>=1.0-1)", "R (>= r1234)", "R", ""], (text, n) =>
      cran("taken", number(n), `Depends: ${text}\nSuggests: a,\n  b (>= 1)\n`),
    ),
  ],
  conda: [
    each(["1!2.0.post1", "1.0.2k", "2023c", "1.0_", "1.0+local.1"], (version) =>
      conda("taken", version),
    ),
    each(
      [
        "other",
        "other 1.0.*",
        "other >=1.0,<2.0a0|3",
        "other 1.0 py_0",
        "other=1.0=py_0",
        "other==1.0",
        "_x *_1",
        "__glibc >=2.17",
        "c::other[version='>=1',build=x]",
        "other  <2",
        "blas *=openblas",
      ],
      (text, n) => conda("taken", `3.${n}`, { depends: [text], constrains: [text] }),
    ),
  ],
  go: [
    each(
      [
        "go 1.18\n",
        "go 1.22.1\ntoolchain go1.22.1\n",
        'require (\n\ta.org/b v1.0.0 // indirect\n\t"a.org/c" v1.0.1-pre\n)\n',
        "retract [v1.0.0, v1.0.1] // bad\nretract v1.0.2\n",
        "tool x\nunknown y\n",
      ],
      (line, n) => go("example.org/taken", `v1.0.${n}`, line),
    ),
  ],
  rpm: [each(["1.0~rc1", "1.0^git1", "a_b+c"], (version) => rpm("taken", version))],
  conan: [each(["1.0", "cci.20240101", "1.0+b"], (version) => conan("taken", version))],
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

    it("takes what its client can parse", async () => {
      for (const [what, sending] of (taken[type] ?? []).flatMap(Object.entries) as [
        string,
        Sending,
      ][]) {
        const { status, text } = await send(type, sending);
        expect(status, `${JSON.stringify(what)}: ${text}`).to.be.oneOf([200, 201]);
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
