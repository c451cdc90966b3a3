import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { startRegistryApp } from "../../support/client/registry.ts";
import { temporaryDirectory } from "../../support/git/git.ts";
import { needsProgram } from "../../support/process/program.ts";

const { anna, at, baseOf, headers } = await startRegistryApp();
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
    await npm(user, "unpublish", name, "--force");
    expect((await fetch(`${baseOf("npm")}/@acme%2fanswer`, { headers })).status).to.equal(404);
  }).timeout(240_000);
});
