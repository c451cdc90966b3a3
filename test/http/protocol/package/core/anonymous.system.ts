import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { expect } from "chai";

import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { zip } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { anna, at, baseOf } = await startRegistryApp();

describe("pip without credentials", () => {
  needsProgram("pip");

  it("downloads from a repository that is open to everybody", async () => {
    await at.local("wheels", "pypi", { hasAnonymousAccess: true });
    const form = new FormData();
    const wheel = zip([
      ["pad-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pad\nVersion: 1.0\n"],
      ["pad-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"],
      ["pad-1.0.dist-info/RECORD", ""],
    ]);
    const content = new Blob([new Uint8Array(wheel)]);
    for (const [name, value] of [
      [":action", "file_upload"],
      ["name", "pad"],
      ["version", "1.0"],
    ] as const) {
      form.append(name, value);
    }
    form.append("content", content, "pad-1.0-py3-none-any.whl");
    const headers = { authorization: basicAuth("anna", anna.token) };
    const stored = await fetch(`${baseOf("wheels")}/`, { method: "POST", headers, body: form });
    expect(stored.status, await stored.text()).to.equal(200);
    const directory = await temporaryDirectory();
    const args = ["download", "--no-cache-dir", "--no-deps", "--disable-pip-version-check"];
    const index = ["--index-url", `${baseOf("wheels")}/simple/`, "-d", directory];
    const { PIP_FIND_LINKS: _, ...env } = process.env;
    await promisify(execFile)("pip", [...args, ...index, "pad"], {
      env: { ...env, HOME: directory },
    });
    expect(await readdir(directory)).to.include("pad-1.0-py3-none-any.whl");
  }).timeout(240_000);
});
