import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";
import yauzl from "yauzl";
import yazl from "yazl";

import { unpackZip, writeZip } from "../../src/agent/archive.ts";
import { below, findFiles } from "../../src/agent/file-tree.ts";
import { ZipWriter } from "../../src/agent/zip-writer.ts";
import { compiled } from "../support/compiled.ts";
import { zip } from "../support/git/archive.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { isInstalled } from "../support/process/program.ts";

type Entry = Readonly<{
  name: string;
  content: Buffer | string;
  mode?: number;
  compress?: boolean;
}>;

async function zipOf(...entries: readonly Entry[]): Promise<Buffer> {
  const made = new yazl.ZipFile();
  for (const { name, content, mode, compress = true } of entries) {
    made.addBuffer(Buffer.from(content), name, { compress, ...(mode !== undefined && { mode }) });
  }
  made.end();
  return buffer(made.outputStream);
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

/** What comes out of a directory that is packed and unpacked. */
async function packed(root: string) {
  const parent = await temporaryDirectory();
  const file = path.join(parent, "a.zip");
  const { files } = await findFiles(root, { paths: ["."], exclude: [] });
  await writeZip(root, files, { target: file });
  const to = path.join(parent, "to");
  await mkdir(to);
  return { file, to, count: await unpackZip(file, to) };
}

async function namesWithFlag(archive: string): Promise<readonly string[]> {
  const options = { autoClose: false, lazyEntries: true, decodeStrings: false };
  const zip = await yauzl.openPromise(archive, options);
  const names: string[] = [];
  for await (const { generalPurposeBitFlag: flags, fileNameRaw } of zip.eachEntry()) {
    if ((flags & 0x0800) !== 0) names.push(fileNameRaw.toString());
  }
  zip.close();
  return names;
}

const replaced = (archive: Buffer, from: string, to: string): Buffer =>
  Buffer.from(archive.toString("latin1").replaceAll(from, to), "latin1");

describe("an archive of artifacts", () => {
  it("has the files of a directory with their modes, large ones, links and empty directories", async () => {
    const root = await temporaryDirectory();
    const large = randomBytes(200_000);
    await mkdir(path.join(root, "empty"));
    await mkdir(path.join(root, "bin"));
    await writeFile(path.join(root, "bin/run"), "#!/bin/sh\n".repeat(100), { mode: 0o750 });
    await writeFile(path.join(root, "ärger.bin"), large);
    await writeFile(path.join(root, "nothing"), "");
    await symlink("bin/run", path.join(root, "link"));
    const { to, count, file } = await packed(root);
    expect(count).to.equal(6);
    expect(await readdir(to)).to.have.members(["bin", "empty", "link", "nothing", "ärger.bin"]);
    expect(await readFile(path.join(to, "link"), "utf8")).to.contain("#!/bin/sh");
    expect((await stat(path.join(to, "bin/run"))).mode & 0o777).to.equal(0o750);
    expect(large.equals(await readFile(path.join(to, "ärger.bin")))).to.equal(true);
    // Readers that take an archive as it comes see the sizes in front of the files alone.
    const archive = await yauzl.openPromise(file, { autoClose: false, lazyEntries: true });
    for await (const entry of archive.eachEntry()) {
      const head = await archive.readLocalFileHeaderPromise(entry);
      expect(head.compressedSize, entry.fileName).to.equal(entry.compressedSize);
      expect(head.crc32, entry.fileName).to.equal(entry.crc32);
    }
    archive.close();
    if (isInstalled("python3")) execFileSync("python3", ["-m", "zipfile", "-t", file]);
  });

  it("has names as they are on the disk, also when they are no UTF-8", async () => {
    const root = await temporaryDirectory();
    const names = ["d\xe9", "d\xe9/b\xe4r.txt", "d\xe9/to", "x\\..\\y", "\xc3\xa4.txt"];
    const [directory = "", file = "", link = "", ...more] = names;
    const at = (name: string) => below(root, Buffer.from(name, "latin1"));
    await mkdir(at(directory));
    for (const each of [file, ...more]) await writeFile(at(each), each, "latin1");
    await symlink(Buffer.from("b\xe4r.txt", "latin1"), at(link));
    const { to, file: archive } = await packed(root);
    const unpacked = (await findFiles(to, { paths: ["."], exclude: [] })).files;
    expect(unpacked.map(({ path }) => path.toString("latin1"))).to.have.members(names);
    const [linked] = unpacked.filter(({ kind }) => kind === "link");
    expect(await readFile(below(to, linked?.path ?? Buffer.alloc(0)), "latin1")).to.equal(file);
    // As zip and gitlab-runner do: the flag says that a name is UTF-8.
    expect(await namesWithFlag(archive)).to.deep.equal(["x\\..\\y", "ä.txt"]);
  });

  it("may have more than 65,535 files", async () => {
    const file = path.join(await temporaryDirectory(), "a.zip");
    const handle = await open(file, "wx");
    const archive = new ZipWriter(handle);
    const about = { mode: 0o100644, mtime: new Date() };
    const count = 66_000;
    for (let n = 0; n < count; n += 1)
      await archive.add(Buffer.from(`d/${n}`), about, Buffer.from(`${n}`));
    await archive.end();
    await handle.close();
    const zip = await yauzl.openPromise(file, { lazyEntries: true });
    const names: string[] = [];
    for await (const entry of zip.eachEntry()) names.push(entry.fileName);
    expect([names.length, names.at(-1)]).to.deep.equal([count, `d/${count - 1}`]);
  });

  it("is refused when a file is not what it was", async () => {
    const archive = replaced(
      await zipOf({ name: "a.txt", content: "right", compress: false }),
      "right",
      "wrong",
    );
    expect((await unpacked(archive)).outcome).to.equal("a.txt is damaged.");
  });

  it("is refused before a file is written when it unpacks to too much", async () => {
    const honest = zip(
      [
        ["first.txt", "a"],
        ...Array.from({ length: 20 }, (_, n): [string, string] => [`bomb${n}`, "b"]),
      ],
      { claimedBytes: 0xffff_fff0 },
    );
    const { outcome, root } = await unpacked(honest);
    expect(outcome).to.equal("The archive unpacks to too much.");
    expect(await readdir(root)).to.deep.equal(["link"]);
  });

  it("is not made of more than unpacks again, which a file may have that takes no room", async () => {
    const root = await temporaryDirectory();
    await writeFile(path.join(root, "small"), "x");
    await writeFile(path.join(root, "large"), "");
    await truncate(path.join(root, "large"), 8 * 1024 ** 4);
    const outcome = await packed(root).catch((error: Error) => error.message);
    expect(outcome).to.equal("The files are over 68719476736 bytes.");
  });

  it("is not unpacked any further once its job is over", async () => {
    const root = await temporaryDirectory();
    const file = path.join(root, "a.zip");
    await writeFile(file, await zipOf({ name: "a.txt", content: "a" }));
    const over = AbortSignal.abort(new Error("it was canceled"));
    await expect(unpackZip(file, root, over)).to.be.rejectedWith("it was canceled");
    expect(await readdir(root)).to.deep.equal(["a.zip"]);
  });

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

describe("an archive with a file packed in a way that no agent knows", () => {
  it("is refused, and leaves no file open", async () => {
    const archive = await zipOf({ name: "a.txt", content: "text" });
    // The method in the list of files.
    archive.writeUInt16LE(12, archive.indexOf("PK\u0001\u0002") + 10);
    const { outcome, root } = await unpacked(archive);
    expect(outcome).to.match(/compression method/);
    const open = await readdir("/proc/self/fd");
    const files = await Promise.all(
      open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
    );
    expect(files.filter((file) => file.startsWith(root))).to.deep.equal([]);
  });
});

describe("an archive that has no room", () => {
  it("names why it cannot be written, and closes each file once", async () => {
    const root = await temporaryDirectory();
    await writeFile(path.join(root, "large.bin"), randomBytes(4 * 1024 ** 2));
    const script = `
      const { writeZip } = await import(${JSON.stringify(compiled("src/agent/archive.ts"))});
      const files = [{ path: Buffer.from("large.bin"), kind: "file" }];
      await writeZip(process.argv[1], files, { target: process.argv[1] + "/a.zip" })
        .catch((error) => console.log(error.code));`;
    const limited = 'ulimit -f 1024; exec "$@"';
    const node = [process.execPath, "--input-type=module", "--eval", script, root];
    const said = execFileSync("sh", ["-c", limited, "-", ...node], { encoding: "utf8" });
    expect(said).to.equal("EFBIG\n");
  });
});
