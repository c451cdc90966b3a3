import { expect } from "chai";

import { takePdbs } from "../../../src/package/nuget/symbols.ts";
import { refused } from "../../support/app/refused.ts";
import { filesOf } from "../../support/git/archive.ts";
import { portablePdb, snupkg } from "../../support/package/snupkg.ts";

const fileOf = await filesOf();
const guid = "0123456789abcdef0123456789abcdef";

async function namesIn(...paths: readonly string[]): Promise<readonly string[]> {
  const files = paths.map((path) => [path, portablePdb(guid)] as const);
  const file = await fileOf(snupkg("Pad", "1.0.0", files));
  const names: string[] = [];
  const limits = { bytesMax: 1_000_000, check: async () => undefined };
  await takePdbs(file, limits, async ({ name }, content) => {
    content.destroy();
    names.push(name);
  });
  return names;
}

describe("a symbol package of NuGet", () => {
  it("gives each PDB once, without the folders of frameworks", async () => {
    expect(await namesIn("lib/net8.0/Pad.pdb", "lib/net9.0/PAD.pdb")).to.deep.equal(["Pad.pdb"]);
  });

  it("is refused with a name of a PDB that is too long or has a control character", async () => {
    const longest = `${"x".repeat(196)}.pdb`;
    expect(await namesIn(`lib/${longest}`)).to.deep.equal([longest]);
    for (const name of [`x${longest}`, "a\u0085b.pdb"]) {
      await refused(() => namesIn(`lib/${name}`), "package.file_malformed", "name of a PDB");
    }
  });

  it("is refused without a PDB", async () => {
    await refused(() => namesIn(), "package.file_malformed", "no PDB");
  });
});
