import { expect } from "chai";

import { startRegistryApp } from "../../../../../support/client/registry.ts";
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

/** From the same grammars as what refused.test.ts sends. */
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

for (const [type, all] of Object.entries(taken)) {
  describe(`a repository of ${type}`, () => {
    before(() => at.local(type, type));

    it("takes what its client can parse", async () => {
      for (const [what, sending] of all.flatMap(Object.entries) as [string, Sending][]) {
        const { status, text } = await send(type, sending);
        expect(status, `${JSON.stringify(what)}: ${text}`).to.be.oneOf([200, 201]);
      }
    }).timeout(60_000);
  });
}
