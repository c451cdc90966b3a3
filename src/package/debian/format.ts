import { type FileHandle, open } from "node:fs/promises";

import {
  badFile,
  badName,
  badVersion,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { manifestText, withoutLastLines } from "../core/manifest-text.ts";
import { type Compression, inflated, tarFile } from "../core/small-archive.ts";

const packageForm = /^[a-z0-9][a-z0-9+.-]{1,199}$/;
/** deb-version(7): no underscores, which part the name of a file. */
const versionForm = /^(?:(\d{1,9}):)?([A-Za-z0-9][A-Za-z0-9.+~-]{0,199})$/;
const architectureForm = /^[a-z0-9][a-z0-9-]{0,49}$/;
const placeForm = /^[A-Za-z0-9][A-Za-z0-9.+~-]{0,63}$/;

const controlPackedMax = 4 * 1024 ** 2;
const controlBytesMax = 16 * 1024 ** 2;
const controlTextMax = 256 * 1024;
const membersMax = 16;

/** A part of a repository: a component of a distribution. */
export type DebianPlace = Readonly<{ distribution: string; component: string }>;

/** Whether a distribution or a component can have this name. */
export const isDebianPart = (name: string): boolean => placeForm.test(name);

/** @throws Refusal 422 */
export function debianPlace(distribution: string, component: string): DebianPlace {
  if (!isDebianPart(distribution) || !isDebianPart(component)) {
    throw badName("A distribution and a component are letters, digits, dots and dashes.");
  }
  return { distribution, component };
}

/** The same package can be in several places, with other versions. @throws Refusal 422 */
export function debianName(name: string, { distribution, component }: DebianPlace): PackageName {
  if (!packageForm.test(name)) {
    throw badName("A package's name is small letters, digits and +.-, two characters at least.");
  }
  const groupId = `${distribution}/${component}`;
  return { name, groupId, artifactId: name, key: `${groupId}/${name}` };
}

/** An epoch of zero is none. @throws Refusal 422 */
export function debianVersion(text: string): PackageVersionName & Readonly<{ epoch: number }> {
  const [, epoch = "0", upstream] = versionForm.exec(text) ?? [];
  if (upstream === undefined) throw badVersion("This is not a version as Debian writes them.");
  const version = Number(epoch) === 0 ? upstream : `${Number(epoch)}:${upstream}`;
  return { version, key: version, epoch: Number(epoch) };
}

export const debFileName = (name: string, version: string, architecture: string): string =>
  `${name}_${version.replace(/^\d+:/, "")}_${architecture}.deb`;

export type DebMetadata = Readonly<{ control: string; architecture: string }>;
export type Deb = PackageFileName & Readonly<{ metadata: DebMetadata }>;

/** What a .deb is by its control file (deb(5), deb-control(5)). @throws Refusal 422 */
export async function readDeb(file: string, place: DebianPlace): Promise<Deb> {
  const text = await controlOf(file);
  const { control, fields } = parseControl(text);
  const packageName = debianName(fields.get("package") ?? "", place);
  const version = debianVersion(fields.get("version") ?? "");
  const architecture = fields.get("architecture") ?? "";
  if (!architectureForm.test(architecture)) throw badFile("Its control names no architecture.");
  const fileName = debFileName(packageName.name, version.version, architecture);
  const metadata = { control, architecture };
  return { packageName, version, fileName, languageVersion: null, metadata };
}

const required = ["package", "version", "architecture", "maintainer", "description"];
/** Fields that the serving repository sets. */
const ours = ["filename", "size", "md5sum", "sha1", "sha256", "sha512"];

/** @throws Refusal 422 */
export function parseControl(text: string) {
  const control = withoutLastLines(text.replaceAll("\r\n", "\n"));
  if (/^\s*$/m.test(control) || /[^\P{Cc}\n\t]|[\u2028\u2029]/u.test(control)) {
    throw badFile("Its control has an empty line or a control character.");
  }
  const fields = new Map<string, string>();
  let last: string | undefined;
  for (const line of control.split("\n")) {
    if (/^[ \t]/.test(line)) {
      if (last === undefined) throw badFile("Its control begins with a continuation.");
      continue;
    }
    const colon = line.indexOf(":");
    last = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!/^[!-~]+$/.test(last) || fields.has(last)) {
      throw badFile("Its control has a malformed line.");
    }
    fields.set(last, line.slice(colon + 1).trim());
  }
  if (ours.some((name) => fields.has(name))) throw badFile("Its control says what is said here.");
  const missing = required.find((name) => !fields.has(name));
  if (missing !== undefined) throw badFile(`Its control has no ${missing}.`);
  return { control, fields };
}

const magic = "!<arch>\n";
const headerBytes = 60;

/** The text of the control file within the first archive of an ar archive. */
async function controlOf(file: string): Promise<string> {
  const handle = await open(file, "r");
  try {
    const members = await membersOf(handle);
    const [version, control, data] = members.filter(({ name }) => !name.startsWith("_"));
    const isDeb =
      version?.name === "debian-binary" &&
      control !== undefined &&
      /^data\.tar(?:\.(?:gz|xz|zst|bz2|lzma))?$/.test(data?.name ?? "");
    const compression = compressions.get(control?.name ?? "");
    if (!isDeb || compression === undefined) throw badFile("It is no package of Debian.");
    if (!/^2\.\d+\n/.test((await contentOf(handle, version)).toString("latin1"))) {
      throw badFile("Its format is not 2.");
    }
    const tar = await inflated(await contentOf(handle, control), compression, controlBytesMax);
    const text = await tarFile(tar, "control");
    if (text === undefined) throw badFile("It holds no control.");
    if (text.length > controlTextMax) throw badFile(`Its control is over ${controlTextMax} bytes.`);
    return manifestText(text, "control");
  } finally {
    await handle.close();
  }
}

const compressions: ReadonlyMap<string, Compression> = new Map([
  ["control.tar", "none"],
  ["control.tar.gz", "gzip"],
  ["control.tar.xz", "xz"],
  ["control.tar.zst", "zstd"],
]);

type Member = Readonly<{ name: string; at: number; bytes: number }>;

async function membersOf(handle: FileHandle): Promise<readonly Member[]> {
  const { size } = await handle.stat();
  const read = async (at: number, bytes: number): Promise<string> => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at);
    return buffer.toString("latin1", 0, bytesRead);
  };
  if ((await read(0, magic.length)) !== magic) throw badFile("It is no package of Debian.");
  const members: Member[] = [];
  for (let at = magic.length; at < size; ) {
    const header = await read(at, headerBytes);
    const bytes = Number(/^\d{1,10}$/.exec(header.slice(48, 58).trim())?.[0]);
    const begin = at + headerBytes;
    const isWhole = header.endsWith("`\n") && begin + bytes <= size;
    if (!isWhole || members.length >= membersMax) throw badFile("It is cut or malformed.");
    const name = header.slice(0, 16).trim().replace(/\/$/, "");
    members.push({ name, at: begin, bytes });
    at = begin + bytes + (bytes % 2);
  }
  return members;
}

async function contentOf(handle: FileHandle, { at, bytes }: Member): Promise<Buffer> {
  if (bytes > controlPackedMax) throw badFile(`Its control is over ${controlPackedMax} bytes.`);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at);
  return buffer.subarray(0, bytesRead);
}
