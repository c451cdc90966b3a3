import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { backupFormat, findManifest, type Manifest } from "../../../src/cli/backup/manifest.ts";
import { ConfigError } from "../../../src/config.ts";
import { temporaryDirectory } from "../../support/git/git.ts";

const file = (name: string) => ({ name: `${name}.jsonl.gz`, lines: 1, sha256: "0".repeat(64) });
const manifest: Manifest = {
  format: backupFormat,
  createdAt: "2026-11-26T10:00:00.000Z",
  position: "7",
  rootHash: "",
  events: file("events-7"),
  tables: file("tables-7"),
  repositories: 0,
  blobs: 0,
  reactors: {},
  keyCheck: "check",
};

async function read(content: Readonly<Record<string, unknown>>) {
  const directory = await temporaryDirectory();
  await writeFile(path.join(directory, "backup.json"), JSON.stringify(content));
  return findManifest(directory);
}

describe("the manifest of a backup", () => {
  it("is read in the form of this release and of earlier ones", async () => {
    for (const format of [1, backupFormat]) {
      expect(await read({ ...manifest, format })).to.deep.equal({ ...manifest, format });
    }
  });

  it("is refused in the form of a later release, which the error names", async () => {
    const later = { ...manifest, format: backupFormat + 1, position: "in another form" };
    await expect(read(later)).to.be.rejectedWith(ConfigError, /newer release \(format 3; this one/);
  });

  it("is refused without a format", async () => {
    const { format: _, ...without } = manifest;
    await expect(read(without)).to.be.rejectedWith(
      ConfigError,
      /no backup that this version reads/,
    );
  });
});
