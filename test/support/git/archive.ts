import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";

import { temporaryDirectory } from "./git.ts";

/** A file of an archive; a name twice is written twice. */
export type ArchiveFile = readonly [path: string, content: string | Buffer];

type ZipOptions = Readonly<{
  /** What the list of files says of the size, in the place of the truth. */
  claimedBytes?: number;
  /** Of every file, as Unix has it. */
  mode?: number;
}>;

/** A zip archive, byte by byte: also such as no tool writes. */
export function zip(
  files: readonly ArchiveFile[],
  { claimedBytes, mode = 0 }: ZipOptions = {},
): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [path, content] of files) {
    const name = Buffer.from(path);
    const plain = Buffer.from(content);
    const data = deflateRawSync(plain);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x0800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(plain), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(claimedBytes ?? plain.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([signature(0x04034b50), common, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt16LE(mode, 8);
    tail.writeUInt32LE(offset, 10);
    const made = Buffer.alloc(2);
    directory.push(Buffer.concat([signature(0x02014b50), made, common, tail, name]));
    parts.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, list, signature(0x06054b50), end]);
}

/** A tar archive (POSIX ustar). */
export function tar(files: readonly ArchiveFile[], type = "0", target = "elsewhere"): Buffer {
  const parts = files.flatMap(([path, content]) => {
    const data = Buffer.from(content);
    const padding = Buffer.alloc((512 - (data.length % 512)) % 512);
    return [tarHeader(path, data.length, type, target), data, padding];
  });
  return Buffer.concat([...parts, Buffer.alloc(1_024)]);
}

export const tgz = (files: readonly ArchiveFile[], type?: string): Buffer =>
  gzipSync(tar(files, type));

function tarHeader(path: string, bytes: number, type: string, target: string): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  header.write(path, 0, 100);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${octal(bytes, 11)}\0`, 124);
  header.write(`${octal(0, 11)}\0`, 136);
  header.write("        ", 148);
  header.write(type, 156);
  if (type === "1" || type === "2") header.write(target, 157);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** As `npm pack` makes it. */
export const npmTarball = (manifest: Readonly<Record<string, unknown>>): Buffer =>
  tgz([
    ["package/index.js", "module.exports = 1;\n"],
    ["package/package.json", JSON.stringify(manifest)],
  ]);

/** As `nuget pack` makes it, without what nobody reads. */
export const nupkg = (id: string, version: string, more = ""): Buffer =>
  zip(nupkgParts(id, version, more));

export const nupkgParts = (id: string, version: string, more = ""): readonly ArchiveFile[] => [
  [
    `${id}.nuspec`,
    `\ufeff<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata><id>${id}</id><version>${version}</version>${more}</metadata>
</package>`,
  ],
  [`lib/net8.0/${id}.dll`, "MZ"],
];

/** The jar of a plugin, as the plugin tools of Maven describe it. */
export const mavenPlugin = (prefix: string): Buffer =>
  zip([
    ["META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n"],
    [
      "META-INF/maven/plugin.xml",
      `<plugin><name>it</name><goalPrefix>${prefix}</goalPrefix><mojos><mojo><goal>go</goal></mojo></mojos></plugin>`,
    ],
  ]);

export const composerZip = (manifest: Readonly<Record<string, unknown>>, at = ""): Buffer =>
  zip([
    [`${at}composer.json`, JSON.stringify(manifest)],
    [`${at}src/Thing.php`, "<?php"],
  ]);

export const wheel = (name: string, version: string, more = ""): Buffer =>
  zip([
    [`${name}/__init__.py`, ""],
    [
      `${name}-${version}.dist-info/METADATA`,
      `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n${more}\nA text.\nName: other\n`,
    ],
    [`${name}-${version}.dist-info/WHEEL`, "Wheel-Version: 1.0\nTag: py3-none-any\n"],
    [`${name}-${version}.dist-info/RECORD`, ""],
  ]);

/** A frame of zstd that holds the bytes as they are (RFC 8878, 3.1.1: raw blocks). */
function zstd(content: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(content.length);
  const header = Buffer.concat([Buffer.from("28b52ffda0", "hex"), size]);
  const block = Buffer.alloc(3);
  block.writeUIntLE((content.length << 3) | 1, 0, 3);
  return Buffer.concat([header, block, content]);
}

/** A package of conda, version 2 of the format. */
export function conda(
  index: Readonly<Record<string, unknown>>,
  more: readonly ArchiveFile[] = [],
): Buffer {
  const info = tar([["info/index.json", JSON.stringify(index)]]);
  return zip([
    ["metadata.json", '{"conda_pkg_format_version": 2}'],
    ["info-tool-1.0-py_0.tar.zst", zstd(info)],
    ...more,
  ]);
}

/** Puts contents into files of a new directory, which goes when the test file ends. */
export async function filesOf(): Promise<(content: Buffer) => Promise<string>> {
  const directory = await temporaryDirectory();
  let serial = 0;
  return async (content) => {
    serial += 1;
    const file = join(directory, String(serial));
    await writeFile(file, content);
    return file;
  };
}

/** An ar archive (System V), as .deb files are. */
export function ar(members: readonly ArchiveFile[]): Buffer {
  const parts = members.flatMap(([name, content]) => {
    const data = Buffer.from(content);
    const header = `${name.padEnd(16)}${"0".padEnd(12)}0     0     100644  ${String(data.length).padEnd(10)}\`\n`;
    return [Buffer.from(header), data, Buffer.alloc(data.length % 2, "\n")];
  });
  return Buffer.concat([Buffer.from("!<arch>\n"), ...parts]);
}

/** As `dpkg-deb --build -Zgzip` makes it, with nothing in it. */
export const deb = (name: string, version: string, architecture: string, more = ""): Buffer =>
  ar([
    ["debian-binary", "2.0\n"],
    ["control.tar.gz", tgz([["./control", debControl(name, version, architecture, more)]])],
    ["data.tar.gz", tgz([["./usr/share/doc/pad/copyright", "free"]])],
  ]);

export const debControl = (name: string, version: string, architecture: string, more = "") =>
  `Package: ${name}\nVersion: ${version}\nArchitecture: ${architecture}\nMaintainer: Anna <anna@example.org>\nDescription: Pads\n a text\n${more}`;

type RpmEntry = readonly [tag: number, type: number, values: readonly (string | number)[]];

/** A header of an .rpm: texts (types 6, 8 and 9) and numbers of four and two bytes (4 and 3). */
export function rpmHeader(entries: readonly RpmEntry[]): Buffer {
  const index: Buffer[] = [];
  let data = Buffer.alloc(0);
  for (const [tag, type, values] of entries) {
    const size = type === 4 ? 4 : type === 3 ? 2 : 1;
    data = Buffer.concat([data, Buffer.alloc((size - (data.length % size)) % size)]);
    const entry = Buffer.alloc(16);
    for (const [at, value] of [tag, type, data.length, values.length].entries()) {
      entry.writeUInt32BE(value, at * 4);
    }
    index.push(entry);
    const contents = values.map((value) => {
      if (typeof value === "string") return Buffer.from(`${value}\0`);
      const number = Buffer.alloc(size);
      number.writeUIntBE(value, 0, size);
      return number;
    });
    data = Buffer.concat([data, ...contents]);
  }
  const intro = Buffer.alloc(16);
  intro.writeUInt32BE(0x8eade801, 0);
  intro.writeUInt32BE(index.length, 8);
  intro.writeUInt32BE(data.length, 12);
  return Buffer.concat([intro, ...index, data]);
}

/** An .rpm whose payload nobody reads. */
export function rpm(
  name: string,
  version: string,
  release: string,
  more: readonly RpmEntry[] = [],
): Buffer {
  const lead = Buffer.alloc(96);
  lead.writeUInt32BE(0xedabeedb, 0);
  lead.writeUInt8(3, 4);
  const signature = rpmHeader([[1007, 4, [4_321]]]);
  const padding = Buffer.alloc((8 - (signature.length % 8)) % 8);
  const header = rpmHeader([
    [1000, 6, [name]],
    [1001, 6, [version]],
    [1002, 6, [release]],
    [1004, 9, ["Pads & <texts>"]],
    [1005, 9, ["A text.\u0007"]],
    [1006, 4, [1_700_000_000]],
    [1009, 4, [12]],
    [1014, 6, ["MIT"]],
    [1022, 6, ["noarch"]],
    [1044, 6, [`${name}-${version}-${release}.src.rpm`]],
    ...more,
  ]);
  return Buffer.concat([lead, signature, padding, header, Buffer.from("payload")]);
}
