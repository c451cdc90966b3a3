import {
  badFile,
  badName,
  badVersion,
  mismatch,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { manifestText, withoutLastLines } from "../core/manifest-text.ts";
import { tarFileText } from "../core/tar-walk.ts";
import { walkZip } from "../core/zip-walk.ts";

/** "Writing R Extensions", 1.1.1: at least two characters, the last no dot. */
const nameForm = /^[A-Za-z][A-Za-z0-9.]{0,198}[A-Za-z0-9]$/;
const versionForm = /^\d{1,9}(?:[.-]\d{1,9}){1,9}$/;
const unpackedMax = 1024 ** 3;
const descriptionBytesMax = 256 * 1024;
const entriesMax = 100_000;

/** Where packages of one kind stand: sources, or what was built for a system and a version of R. */
const placeForm =
  /^(?:src\/contrib|bin\/windows\/contrib\/\d+\.\d+|bin\/macosx\/(?:[A-Za-z0-9._-]+\/)?contrib\/\d+\.\d+)$/;

export type CranPlace = Readonly<{ path: string; ending: ".tar.gz" | ".zip" | ".tgz" }>;

/** @throws Refusal 422 */
export function cranPlace(path: string): CranPlace {
  if (!placeForm.test(path)) throw badName("Packages stand below src/contrib or bin/.");
  const ending = path.startsWith("src/")
    ? ".tar.gz"
    : path.startsWith("bin/windows/")
      ? ".zip"
      : ".tgz";
  return { path, ending };
}

/** Case counts. @throws Refusal 422 */
export function cranName(name: string, { path }: CranPlace): PackageName {
  if (!nameForm.test(name)) {
    throw badName("A package's name begins with a letter, and has letters, digits and dots.");
  }
  return { name, groupId: path, artifactId: name, key: `${path}/${name}` };
}

/** Numbers by value; `1.0-1` is `1.0.1`. @throws Refusal 422 */
export function cranVersion(version: string): PackageVersionName {
  if (!versionForm.test(version)) throw badVersion("A version is at least two numbers.");
  return { version, key: version.split(/[.-]/).map(Number).join(".") };
}

export function compareCran(a: string, b: string): number {
  const [one, other] = [a, b].map((version) => version.split(/[.-]/).map(Number));
  for (let at = 0; at < Math.max(one?.length ?? 0, other?.length ?? 0); at += 1) {
    const difference = (one?.[at] ?? -1) - (other?.[at] ?? -1);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

export const cranFileName = (name: string, version: string, { ending }: CranPlace): string =>
  `${name}_${version}${ending}`;

/** Of DESCRIPTION, what indexes show: tools::write_PACKAGES. */
const shown = [
  ...["Package", "Version", "Priority", "Depends", "Imports", "LinkingTo", "Suggests", "Enhances"],
  ...["License", "License_is_FOSS", "License_restricts_use", "OS_type", "Archs"],
  ...["NeedsCompilation", "Built"],
] as const;

type Cran = PackageFileName & Readonly<{ metadata: Readonly<Record<string, string>> }>;

/** What a package is by its DESCRIPTION, in the folder with its name. @throws Refusal 422 */
export async function readCran(file: string, place: CranPlace): Promise<Cran> {
  const folders = new Set<string>();
  const seen = (path: string) => void folders.add(path.split("/")[0] ?? "");
  const text = await (place.ending === ".zip" ? fromZip : fromTar)(file, seen);
  if (Buffer.byteLength(text) > descriptionBytesMax) throw tooLarge();
  const fields = parseDcf(text);
  const name = fields.get("Package") ?? "";
  const packageName = cranName(name, place);
  const version = cranVersion(fields.get("Version") ?? "");
  if (folders.size !== 1 || !folders.has(name)) {
    throw badFile(`All of its files stand in a folder with its name, ${name}.`);
  }
  mustFit(fields.get("Built"), place);
  const metadata = Object.fromEntries(
    shown.flatMap((key) => {
      const value = fields.get(key);
      return value === undefined || value === "" ? [] : [[key, value] as const];
    }),
  );
  const fileName = cranFileName(name, version.version, place);
  const [, r = null] = /\bR\s*\(([^()]*)\)/.exec(fields.get("Depends") ?? "") ?? [];
  return { packageName, version, fileName, languageVersion: r, metadata };
}

const tooLarge = () => badFile(`Its DESCRIPTION is over ${descriptionBytesMax} bytes.`);
const description = { path: /^[^/]+\/DESCRIPTION$/, name: "DESCRIPTION" };
type Seen = (path: string) => void;

const fromTar = (file: string, seen: Seen): Promise<string> =>
  tarFileText(file, description, { compression: "gzip", bytesMax: unpackedMax }, ({ path }) =>
    seen(path),
  );

async function fromZip(file: string, seen: Seen): Promise<string> {
  const contents = await walkZip(file, {
    entriesMax,
    bytesMax: unpackedMax,
    entry({ path, bytes }) {
      seen(path);
      if (!description.path.test(path)) return false;
      if (bytes > descriptionBytesMax) throw tooLarge();
      return true;
    },
  });
  const [bytes] = contents.values();
  if (bytes === undefined) throw badFile("It holds no DESCRIPTION.");
  return manifestText(bytes, "DESCRIPTION");
}

/** Fields of a Debian control file, each of one line here. @throws Refusal 422 */
export function parseDcf(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string[]>();
  let last: string[] | undefined;
  for (const line of withoutLastLines(text.replaceAll("\r\n", "\n")).split("\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon));
    if (/^[A-Za-z][A-Za-z0-9_./@-]*$/.test(name)) {
      if (fields.has(name)) throw badFile("Its DESCRIPTION has a field twice.");
      last = [line.slice(colon + 1).trim()];
      fields.set(name, last);
    } else if (/^[ \t]/.test(line) && last !== undefined) {
      last.push(line.trim());
    } else throw badFile("Its DESCRIPTION has a malformed line.");
  }
  const isText = (part: string): boolean => part !== "";
  return new Map([...fields].map(([name, parts]) => [name, parts.filter(isText).join(" ")]));
}

/** What was built runs with that minor version of R only. */
function mustFit(built: string | undefined, { path }: CranPlace): void {
  const [, required] = /\/contrib\/(\d+\.\d+)$/.exec(path) ?? [];
  const [, found] = /^R (\d+\.\d+)/.exec(built ?? "") ?? [];
  if (required === undefined) {
    if (built !== undefined) throw badFile("It is built, and no package of sources.");
  } else if (required !== found) throw mismatch("version of R", required, found ?? "none");
}
