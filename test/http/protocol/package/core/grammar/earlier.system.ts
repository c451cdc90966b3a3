import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import type { PackageType } from "../../../../../../src/events/package/version.ts";
import { basicAuth } from "../../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../../support/client/registry.ts";
import { temporaryDirectory } from "../../../../../support/git/git.ts";
import { storedEarlier } from "../../../../../support/package/earlier-upload.ts";
import { type Sending, sendings } from "../../../../../support/package/parsed-upload.ts";
import { needsProgram } from "../../../../../support/process/program.ts";

const { app, anna, at, baseOf } = await startRegistryApp();

type Kept = Readonly<{
  good: Sending;
  /** What an earlier release made of a version 9.9.9 that the client cannot parse. */
  bad: Readonly<{ name: string; key?: string; groupId?: string; version?: string; tag?: string }> &
    Readonly<{ fileName: string; metadata: object }>;
  /** Documents that show versions. */
  documents: readonly string[];
}>;

const control =
  "Package: tool\nVersion: 9.9.9\nArchitecture: amd64\nMaintainer: A <a@example.org>\nDescription: d\nDepends: a |";
const contrib = "src/contrib";

const kept: Partial<Readonly<Record<PackageType, Kept>>> = {
  npm: {
    good: sendings.npm({ name: "tool", version: "1.0.0" }),
    bad: {
      ...{ name: "tool", tag: "latest" },
      fileName: "tool-9.9.9.tgz",
      metadata: { name: "tool", version: "9.9.9", dependencies: { "": "1" } },
    },
    documents: ["tool", "tool/latest"],
  },
  cargo: {
    good: sendings.cargo("tool", "1.0.0"),
    bad: {
      name: "tool",
      fileName: "tool-9.9.9.crate",
      metadata: { deps: [{ name: "other", req: "1 || 2", features: [] }], features: {} },
    },
    documents: ["to/ol/tool"],
  },
  pypi: {
    good: sendings.pypi("tool", "1.0.0"),
    bad: {
      name: "tool",
      fileName: "tool-9.9.9-py3-none-any.whl",
      metadata: { requiresPython: "3.6", text: null },
    },
    documents: ["simple/tool/"],
  },
  composer: {
    good: sendings.composer("1.0.0", { name: "acme/tool" }),
    bad: {
      name: "acme/tool",
      fileName: "acme-tool-9.9.9.zip",
      metadata: { name: "acme/tool", require: { "acme/other": "=>1" } },
    },
    documents: ["p2/acme/tool.json"],
  },
  rubygem: {
    good: sendings.rubygem("tool", "1.0.0"),
    bad: {
      name: "tool",
      fileName: "tool-9.9.9.gem",
      metadata: {
        ...{ name: "tool", number: "9.9.9", platform: "ruby" },
        dependencies: [{ name: "other", requirement: [[">=", "a..b"]], type: "runtime" }],
      },
    },
    documents: ["info/tool", "versions"],
  },
  helm: {
    good: sendings.helm("tool", "1.0.0"),
    bad: {
      name: "tool",
      fileName: "tool-9.9.9.tgz",
      metadata: { apiVersion: "v9", name: "tool", version: "9.9.9" },
    },
    documents: ["index.yaml"],
  },
  debian: {
    good: sendings.debian("tool", "1.0.0"),
    bad: {
      ...{ name: "tool", groupId: "stable/main", key: "stable/main/tool" },
      ...{ fileName: "tool_9.9.9_amd64.deb", metadata: { control, architecture: "amd64" } },
    },
    documents: ["dists/stable/main/binary-amd64/Packages"],
  },
  cran: {
    good: sendings.cran("tool", "1.0.0"),
    bad: {
      ...{ name: "tool", groupId: contrib, key: `${contrib}/tool` },
      fileName: "tool_9.9.9.tar.gz",
      metadata: { Package: "tool", Version: "9.9.9", Depends: "R (>= x)" },
    },
    documents: [`${contrib}/PACKAGES`],
  },
  conda: {
    good: sendings.conda("tool", "1.0.0"),
    bad: {
      ...{ name: "tool", groupId: "linux-64", key: "linux-64/tool" },
      fileName: "tool-9.9.9-py_0.conda",
      metadata: {
        ...{ name: "tool", version: "9.9.9", build: "py_0", build_number: 0, subdir: "linux-64" },
        depends: ["-x"],
      },
    },
    documents: ["linux-64/repodata.json", "channeldata.json"],
  },
  go: {
    good: sendings.go("example.org/tool", "v1.0.0"),
    bad: {
      ...{ name: "example.org/tool", version: "v9.9.9", fileName: "v9.9.9.zip" },
      metadata: { mod: "module example.org/tool\nrequire (\n" },
    },
    documents: ["example.org/tool/@v/list", "example.org/tool/@latest"],
  },
};

before(async () => {
  for (const [type, { good, bad }] of Object.entries(kept) as [PackageType, Kept][]) {
    const { repositoryUuid: repositoryId } = await at.local(type, type, {
      hasAnonymousAccess: true,
    });
    const headers = {
      authorization: basicAuth("anna", anna.token),
      "content-type": good.type ?? "application/octet-stream",
    };
    const sent = { method: good.method, headers, body: new Uint8Array(good.body) };
    const answer = await fetch(`${baseOf(type)}/${good.path}`, sent);
    expect(answer.ok, `${type} ${answer.status} ${await answer.text()}`).to.equal(true);
    await storedEarlier(app, anna, { repositoryId, type, version: "9.9.9", ...bad });
  }
});

describe("a version of an earlier release that the client cannot parse", () => {
  for (const [type, { documents }] of Object.entries(kept)) {
    it(`is in no document of ${type}, which show the others`, async () => {
      for (const document of documents) {
        const answer = await fetch(`${baseOf(type)}/${document}`);
        const text = await answer.text();
        expect(answer.status, `${document} ${text}`).to.equal(200);
        expect(text, document).to.contain("1.0.0").and.not.contain("9.9.9");
      }
    });
  }
});

/** Runs a client in a new folder that is its home. */
async function client(
  program: string,
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
  env: (home: string) => NodeJS.ProcessEnv = () => ({}),
) {
  const cwd = await temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(cwd, name)), { recursive: true });
    await writeFile(path.join(cwd, name), text);
  }
  const { PIP_FIND_LINKS: _, ...machine } = process.env;
  const own = { ...machine, HOME: cwd, ...env(cwd) };
  await promisify(execFile)(program, args, { cwd, env: own, timeout: 200_000 });
  return cwd;
}

const unlessInstalled = (name: string, program: string, test: () => Promise<void>) =>
  describe(`${name}, beside such a version`, () => {
    needsProgram(program);
    it("installs another one", test).timeout(240_000);
  });

unlessInstalled("npm", "npm", async () => {
  const registry = ["--registry", `${baseOf("npm")}/`];
  const cwd = await client("npm", ["install", "tool", "--no-audit", "--no-fund", ...registry], {
    "package.json": "{}",
  });
  const { version } = JSON.parse(
    await readFile(path.join(cwd, "node_modules/tool/package.json"), "utf8"),
  );
  expect(version).to.equal("1.0.0");
});

unlessInstalled("pip", "pip", async () => {
  const index = ["--index-url", `${baseOf("pypi")}/simple/`, "--no-cache-dir", "--no-deps"];
  const cwd = await client("pip", ["download", ...index, "tool"]);
  expect(await readdir(cwd)).to.include("tool-1.0.0-py3-none-any.whl");
});

unlessInstalled("cargo", "cargo", async () => {
  const rustup = process.env["RUSTUP_HOME"] ?? `${process.env["HOME"]}/.rustup`;
  const files = {
    ".cargo/config.toml": `[registries.forge]\nindex = "sparse+${baseOf("cargo")}/index/"\n`,
    "Cargo.toml":
      '[package]\nname = "user"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\ntool = { version = "*", registry = "forge" }\n',
    "src/lib.rs": "",
  };
  const cwd = await client("cargo", ["fetch"], files, (home) => ({
    ...{ RUSTUP_HOME: rustup, CARGO_HOME: path.join(home, "cargo") },
  }));
  expect(await readFile(path.join(cwd, "Cargo.lock"), "utf8")).to.contain(
    'version = "1.0.0"\nsource',
  );
});

unlessInstalled("composer", "composer", async () => {
  const config = {
    repositories: [{ type: "composer", url: baseOf("composer") }, { "packagist.org": false }],
    config: { "secure-http": false },
    require: { "acme/tool": "*" },
  };
  const cwd = await client(
    "composer",
    ["update", "-n"],
    { "composer.json": JSON.stringify(config) },
    (home) => ({
      ...{ COMPOSER_HOME: home, COMPOSER_ALLOW_SUPERUSER: "1" },
    }),
  );
  expect(await readFile(path.join(cwd, "composer.lock"), "utf8")).to.contain('"version": "1.0.0"');
});

unlessInstalled("gem", "gem", async () => {
  const args = ["install", "tool", "--no-document", "--clear-sources", "--source"];
  const cwd = await client("gem", [...args, `${baseOf("rubygem")}/`], {}, (home) => ({
    ...{ GEM_HOME: path.join(home, "gems"), GEM_SPEC_CACHE: path.join(home, "specs") },
  }));
  expect(await readdir(path.join(cwd, "gems/gems"))).to.deep.equal(["tool-1.0.0"]);
});

unlessInstalled("R", "Rscript", async () => {
  const script = `p <- available.packages(repos = "${baseOf("cran")}"); writeLines(p[, "Version"], "versions")`;
  const cwd = await client("Rscript", ["--vanilla", "-e", script]);
  expect(await readFile(path.join(cwd, "versions"), "utf8")).to.equal("1.0.0\n");
});
