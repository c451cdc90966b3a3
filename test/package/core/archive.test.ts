import { gzipSync } from "node:zlib";
import { expect } from "chai";

import { readTarEntry } from "../../../src/package/core/tarball.ts";
import { readZipEntry } from "../../../src/package/core/zip.ts";
import { refused } from "../../support/app/refused.ts";
import { type ArchiveFile, filesOf, tar, tgz, zip } from "../../support/git/archive.ts";

const wanted = { path: /^(?:[^/]+\/)?note\.txt$/, name: "note.txt" };
const malformed = "package.file_malformed";

const fileOf = await filesOf();

const large = Buffer.alloc(1024 ** 2 + 1, "x");

for (const [kind, read, pack] of [
  ["zip", readZipEntry, zip],
  ["tar", readTarEntry, tgz],
] as const) {
  const text = async (content: Buffer) => read(await fileOf(content), wanted);
  const refuses = async (content: Buffer, message: string | RegExp) =>
    refused(() => text(content), malformed, message);

  describe(`a ${kind} archive`, () => {
    it("gives the text of the one file that fits", async () => {
      const files: ArchiveFile[] = [
        ["a/b/note.txt", "deeper"],
        ["a/note.txt", "\ufeffyes, ü"],
        ["a/other.txt", Buffer.alloc(300_000, "y")],
      ];
      expect(await text(pack(files))).to.equal("yes, ü");
      expect(await text(pack([...files].reverse()))).to.equal("yes, ü");
    });

    it("is refused without it, and with two that could be meant", async () => {
      await refuses(pack([["other.txt", "x"]]), "holds no note.txt");
      const twice: ArchiveFile[] = [
        ["a/note.txt", "one"],
        ["a/note.txt", "two"],
      ];
      await refuses(pack(twice), "more than one note.txt");
      const beside: ArchiveFile[] = [
        ["a/note.txt", "one"],
        ["b/note.txt", "two"],
      ];
      await refuses(pack(beside), "more than one note.txt");
    });

    it("takes paths that differ by case, as public registries do, but no second one of the file", async () => {
      const note: ArchiveFile = ["a/note.txt", "x"];
      for (const [one, other] of [
        ["a/b", "a/B"],
        ["a/\u00e9", "a/e\u0301"],
      ] as const) {
        const both = (second: string) => pack([[one, ""], [second, ""], note]);
        expect(await text(both(other))).to.equal("x");
        await refuses(both(one), "one path twice");
      }
      await refuses(pack([note, ["a/Note.TXT", "y"]]), "more than one note.txt");
    });

    it("is refused when the file is large, or no text", async () => {
      await refuses(pack([["a/note.txt", large]]), "over 1048576 bytes");
      await refuses(pack([["a/note.txt", Buffer.from([0xff, 0xfe, 0x00])]]), "not UTF-8");
      expect(await text(pack([["a/note.txt", large.subarray(1)]]))).to.have.length(1024 ** 2);
    });

    it("is refused when it is none, or ends too early", async () => {
      const whole = pack([["a/note.txt", `${"x".repeat(5_000)}7350149846283291`]]);
      for (const content of [
        Buffer.from("not an archive"),
        Buffer.from("x"),
        whole.subarray(0, whole.length - 30),
        whole.subarray(0, 60),
        Buffer.concat([Buffer.alloc(1), whole.subarray(1)]),
      ].slice(0, kind === "zip" ? 4 : 5)) {
        await refuses(content, /archive|holds no/);
      }
    });
  });
}

describe("a zip archive", () => {
  const text = async (content: Buffer) => readZipEntry(await fileOf(content), wanted);

  it("gives the file at its root before those below", async () => {
    const files: ArchiveFile[] = [
      ["a/note.txt", "below"],
      ["note.txt", "root"],
      ["b/note.txt", "below"],
    ];
    expect(await text(zip(files))).to.equal("root");
  });

  it("is refused when a file is larger than its list of files says", async () => {
    const lying = zip([["note.txt", large]], { claimedBytes: 100 });
    await refused(() => text(lying), malformed, /zip archive that can be read/);
  });

  it("is refused when a path in it leads out", async () => {
    for (const name of ["../etc/passwd", "/etc/passwd", "a/../../b"]) {
      const leading = zip([
        ["note.txt", "x"],
        [name, "x"],
      ]);
      await refused(() => text(leading), malformed, /zip archive that can be read/);
    }
  });
});

describe("a zip archive", () => {
  const refuses = async (content: Buffer, message: string) =>
    refused(async () => readZipEntry(await fileOf(content), wanted), malformed, message);

  it("is refused when it holds a link, or says two things of a file", async () => {
    await refuses(zip([["a/note.txt", "elsewhere"]], { mode: 0o120777 }), "holds a link");
    const files: ArchiveFile[] = [["a/note.txt", "x"]];
    const content = zip([...files, ["a/other", "y"]]);
    content.write("z", content.indexOf("other"));
    await refuses(content, "do not agree");
  });
});

describe("a tar archive", () => {
  const text = async (content: Buffer) => readTarEntry(await fileOf(content), wanted);

  const beside = (...files: readonly ArchiveFile[]) => tar(files).subarray(0, -1_024);
  const withNote = (entries: Buffer) =>
    gzipSync(Buffer.concat([entries, tar([["a/note.txt", "x"]])]));

  it("is refused when a path in it leads out", async () => {
    for (const path of ["../etc/passwd", "/etc/passwd", "a/../../b", "c:\\x", "a\\..\\b"]) {
      await refused(() => text(withNote(beside([path, "x"]))), malformed, "leads out");
    }
  });

  it("is refused when it holds a device, or a link unless it leads inside and is taken", async () => {
    const entry = (type: string) => withNote(tar([["a/b/x", ""]], type).subarray(0, -1_024));
    for (const type of ["1", "2", "3", "4", "6"]) {
      await refused(() => text(entry(type)), malformed, "link or a device");
    }
    const read = async (content: Buffer) =>
      readTarEntry(await fileOf(content), { ...wanted, takesLinks: true });
    expect(await read(entry("2"))).to.equal("x");
    await refused(() => read(entry("3")), malformed, "link or a device");
    for (const target of ["../../../x", "/etc/passwd"]) {
      const out = withNote(tar([["a/b/x", ""]], "2", target).subarray(0, -1_024));
      await refused(() => read(out), malformed, "link that leads out");
    }
  });

  it("is refused when the file is a link", async () => {
    await refused(() => text(tgz([["a/note.txt", ""]], "2")), malformed, "no file");
  });

  it("is refused when it was compressed twice", async () => {
    const twice = gzipSync(tgz([["a/note.txt", "x"]]));
    await refused(() => text(twice), malformed, "compressed once");
  });

  it("is refused when it unpacks to more than it may", async () => {
    const zeros = gzipSync(Buffer.alloc(1024 ** 2));
    const file = await fileOf(Buffer.concat([gzipSync(tar([["a/x", "x"]])), zeros, zeros]));
    const read = () => readTarEntry(file, wanted, 1024 ** 2);
    await refused(read, malformed, "unpacks to more than 1048576 bytes");
  });

  it("is read up to its end, whatever follows", async () => {
    const whole = tar([["a/note.txt", "yes"]]);
    const more = tar([["a/note.txt", "no"]]);
    expect(await text(gzipSync(Buffer.concat([whole, more])))).to.equal("yes");
  });
});
