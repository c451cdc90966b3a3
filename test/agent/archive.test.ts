import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";
import yazl from "yazl";

import { unpackZip } from "../../src/agent/archive.ts";
import { temporaryDirectory } from "../support/git.ts";

type Entry = Readonly<{ name: string; content: Buffer | string; mode?: number }>;

async function zipOf(...entries: readonly Entry[]): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const { name, content, mode } of entries) {
    zip.addBuffer(Buffer.from(content), name, { ...(mode !== undefined && { mode }) });
  }
  zip.end();
  return buffer(zip.outputStream);
}

/** Unpacks it below a directory whose neighbour is `outside`; `link` leads there. */
async function unpacked(archive: Buffer) {
  const parent = await temporaryDirectory();
  const root = path.join(parent, "root");
  const file = path.join(parent, "a.zip");
  await writeFile(file, archive);
  await mkdir(root);
  await mkdir(path.join(parent, "outside"));
  await symlink("../outside", path.join(root, "link"));
  const outcome = await unpackZip(file, root).catch((error: Error) => error.message);
  return { outcome, root, outside: await readdir(path.join(parent, "outside")) };
}

const replaced = (archive: Buffer, from: string, to: string): Buffer =>
  Buffer.from(archive.toString("latin1").replaceAll(from, to), "latin1");

describe("an archive of artifacts", () => {
  it("is unpacked with links as links", async () => {
    const archive = await zipOf(
      { name: "a/b.txt", content: "b" },
      { name: "a/to", content: "b.txt", mode: 0o120777 },
    );
    const { outcome, root } = await unpacked(archive);
    expect(outcome).to.equal(2);
    expect(await readFile(path.join(root, "a/to"), "utf8")).to.equal("b");
  });

  it("puts nothing outside: through links, its own among them, or by its names", async () => {
    const link = { name: "own", content: "../outside", mode: 0o120777 };
    for (const archive of [
      await zipOf({ name: "link/a.txt", content: "a" }),
      await zipOf(link, { name: "own/a.txt", content: "a" }),
      replaced(await zipOf({ name: "xx/outside/a.txt", content: "a" }), "xx/", "../"),
      replaced(await zipOf({ name: "xoutside/a.txt", content: "a" }), "xoutside", "/outside"),
    ]) {
      const { outcome, outside } = await unpacked(archive);
      expect(outcome).to.be.a("string");
      expect(outside).to.deep.equal([]);
    }
  });

  it("is refused when a file is larger than the archive says", async () => {
    const bytes = 16 * 1024 ** 2 + 0x12_34_57;
    const honest = await zipOf({ name: "bomb", content: Buffer.alloc(bytes) });
    expect(honest.length).to.be.below(bytes / 500);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes);
    const small = Buffer.alloc(4);
    small.writeUInt32LE(10);
    const archive = replaced(honest, size.toString("latin1"), small.toString("latin1"));
    const { outcome, root } = await unpacked(archive);
    expect(outcome).to.match(/too many bytes/);
    const left = await stat(path.join(root, "bomb")).catch(() => undefined);
    expect(left?.size ?? 0).to.be.at.most(bytes / 16);
  });
});
