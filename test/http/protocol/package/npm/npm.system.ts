import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { indexBudget } from "../../../../../src/http/protocol/package/core/part.ts";
import { eventually } from "../../../../support/app/eventually.ts";
import { npmTarball } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import {
  npmRegistry,
  type Packument,
  publication,
} from "../../../../support/package/npm-registry.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { anna, at, baseOf, headers, send, publish } = await npmRegistry();
const run = promisify(execFile);

before(() => at.local("npm", "npm", { isDeletePackageAllowed: true }));

describe("npm", () => {
  needsProgram("npm");

  /** Runs npm with a configuration of its own. */
  async function npm(directory: string, ...args: readonly string[]): Promise<string> {
    const registry = `${baseOf("npm")}/`;
    const config = [
      `registry=${registry}`,
      `${registry.replace(/^http:/, "")}:_authToken=${anna.token}`,
      `cache=${path.join(directory, ".cache")}`,
      "update-notifier=false",
      "fund=false",
      "audit=false",
    ];
    await writeFile(path.join(directory, ".npmrc"), config.join("\n"));
    const env = { PATH: process.env["PATH"], HOME: directory };
    const { stdout } = await run("npm", [...args], { cwd: directory, env });
    return stdout;
  }

  async function source(manifest: Readonly<Record<string, unknown>>): Promise<string> {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, "package.json"), JSON.stringify(manifest));
    await writeFile(path.join(directory, "index.js"), "module.exports = 42;\n");
    return directory;
  }

  it("publishes, installs, tags, deprecates and unpublishes a package with a scope", async () => {
    const name = "@acme/answer";
    const one = await source({ name, version: "1.0.0", bin: "index.js" });
    await npm(one, "publish");
    const two = await source({ name, version: "2.0.0-beta.1", dependencies: {} });
    await npm(two, "publish", "--tag", "next");

    const user = await source({ name: "user", version: "1.0.0" });
    await npm(user, "install", name);
    const installed = path.join(user, "node_modules", "@acme", "answer", "package.json");
    expect(JSON.parse(await readFile(installed, "utf8"))).to.include({ version: "1.0.0" });
    await npm(user, "install", `${name}@next`);
    expect(JSON.parse(await readFile(installed, "utf8"))).to.include({ version: "2.0.0-beta.1" });
    await npm(user, "ci");

    await npm(user, "dist-tag", "add", `${name}@1.0.0`, "stable");
    expect(await npm(user, "dist-tag", "ls", name)).to.contain("stable: 1.0.0");
    await npm(user, "deprecate", `${name}@1.0.0`, "Use the second.");
    expect(await npm(user, "view", `${name}@1.0.0`, "deprecated")).to.contain("Use the second.");
    await npm(user, "unpublish", `${name}@1.0.0`);
    expect(JSON.parse(await npm(user, "view", name, "versions", "--json"))).to.deep.equal([
      "2.0.0-beta.1",
    ]);
    expect((await npm(user, "whoami")).trim()).to.equal("anna");
    expect(await npm(user, "search", "answer")).to.contain(name);
    expect(await npm(user, "search", "answer")).to.match(/published .* by anna/);
    expect((await npm(user, "owner", "ls", name)).trim()).to.equal("anna <>");
    await npm(user, "unpublish", name, "--force");
    expect((await send("npm", "@acme%2fanswer")).status).to.equal(404);
  }).timeout(240_000);

  it("is refused a version that is there, in words", async () => {
    const { repositoryUuid } = await at.local("fixed", "npm", { packageReuploadType: "NONE" });
    expect(repositoryUuid).not.to.equal("");
    const directory = await source({ name: "fixed", version: "1.0.0" });
    const again = async (): Promise<unknown> => {
      await run("npm", ["publish", `--registry=${baseOf("fixed")}/`], { cwd: directory, env });
      return undefined;
    };
    await npm(directory, "ping");
    const login = `//${baseOf("fixed").replace(/^http:\/\//, "")}/:_authToken=${anna.token}`;
    await writeFile(path.join(directory, ".npmrc"), `${login}\nupdate-notifier=false\n`);
    const env = { PATH: process.env["PATH"], HOME: directory };
    await again();
    const refused = await again().catch(({ stderr }: { stderr: string }) => stderr);
    expect(refused).to.match(/already exists|cannot publish over/i);
  }).timeout(240_000);
});

describe("the npm protocol", () => {
  it("holds a large document for no longer than it is sent", async () => {
    for (const version of ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0"]) {
      const manifest = { name: "large", version, description: "x".repeat(200_000) };
      const body = publication("large", version, npmTarball(manifest));
      expect((await publish("npm", "large", body)).status).to.equal(201);
    }
    const whole = await send("npm", "large");
    expect(Number(whole.headers.get("content-length"))).to.be.above(1024 ** 2);
    await whole.body?.cancel();
    const tag = whole.headers.get("etag") ?? "";
    expect((await send("npm", "large", { "if-none-match": tag })).status).to.equal(304);
    await fetch(`${baseOf("npm")}/large`, { method: "HEAD", headers });
    await eventually(() => indexBudget.bytes === 0);
  });

  it("deprecates and unpublishes by the document of a package that is large", async () => {
    const put = (version: string) =>
      publish(
        "npm",
        "grown",
        publication("grown", version, npmTarball({ name: "grown", version })),
      );
    for (const version of ["1.0.0", "1.1.0"]) expect((await put(version)).status).to.equal(201);
    const read = async () => (await (await send("npm", "grown")).json()) as Packument;
    const whole = await read();
    const { "1.0.0": one, "1.1.0": two } = whole.versions;
    const readme = "x".repeat(3 * 1024 ** 2);
    const versions = { "1.0.0": { ...one, deprecated: "Old." }, "1.1.0": { ...two, readme } };
    const body = JSON.stringify({ ...whole, versions: versions });
    expect((await publish("npm", "grown", body)).status).to.equal(200);
    const deprecated = await read();
    expect(deprecated.versions["1.0.0"]?.["deprecated"]).to.equal("Old.");
    const left = JSON.stringify({ ...deprecated, versions: { "1.1.0": { ...two, readme } } });
    const rev = `grown/-rev/${String(deprecated["_rev"])}`;
    const answer = await fetch(`${baseOf("npm")}/${rev}`, { method: "PUT", headers, body: left });
    expect(answer.status).to.equal(200);
    expect(Object.keys((await read()).versions)).to.deep.equal(["1.1.0"]);
  });
});
