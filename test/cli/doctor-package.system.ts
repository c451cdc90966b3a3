import { expect } from "chai";

import { startRegistryApp } from "../support/client/registry.ts";
import { storedEarlier } from "../support/package/earlier-upload.ts";
import { runCli } from "../support/process/cli.ts";

const { app, anna, at } = await startRegistryApp();

describe("ledgerforge doctor", () => {
  it("names packages that clients cannot parse", async () => {
    const { repositoryUuid: repositoryId } = await at.local("nu", "nuget");
    const of = { repositoryId, type: "nuget", name: "Pad", metadata: {} } as const;
    for (const version of ["1.0.0", "1.0.0-01"]) {
      await storedEarlier(app, anna, { ...of, version, fileName: `pad.${version}.nupkg` });
    }
    const { code, out } = await runCli(app, "doctor");
    const lines = out.split("\n").filter((line) => line.startsWith("package "));
    expect(code).to.equal(1);
    expect(lines).to.deep.equal([
      `package nuget Pad 1.0.0-01 in repository ${repositoryId}: pad.1.0.0-01.nupkg is left out of the indexes of the repository, since clients cannot parse it: '1.0.0-01' is not a valid version string. Delete the version, or store the file again without the fault`,
    ]);
  }).timeout(60_000);
});
