import semver from "semver";

import {
  badFile,
  badName,
  badVersion,
  mismatch,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { manifestText } from "../core/manifest-text.ts";
import { walkZip } from "../core/zip-walk.ts";

/** golang.org/x/mod/zip: of a whole module, and of its go.mod and LICENSE. */
const moduleBytesMax = 500 * 1024 ** 2;
const smallFileBytesMax = 16 * 1024 ** 2;
/** Lower than the limit of Go, because it is parsed and kept. */
const goModBytesMax = 1024 ** 2;
const entriesMax = 100_000;
const nameLengthMax = 255;

const elementForm = /^[A-Za-z0-9_~-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_~-])?$/;
const domainForm = /^[a-z0-9.][a-z0-9.-]*$/;
const fileElementForm = /^[\p{L}0-9!#$%&()+,\-.=@[\]^_{}~ ]*[\p{L}0-9!#$%&()+,\-=@[\]^_{}~ ]$/u;
/** Names of devices, which no file can have on Windows. */
const reserved = /^(?:con|com\d|lpt\d|prn|aux|nul)$/i;
const versionForm =
  /^v(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+incompatible)?$/;
const pseudoForm =
  /^v\d+\.(?:0\.0-|\d+\.\d+-(?:[^+]*\.)?0\.)\d{14}-[0-9a-f]{12}(?:\+incompatible)?$/;

const isReserved = (element: string): boolean => reserved.test(element.split(".")[0] ?? "");

/** A module's path: golang.org/x/mod/module, CheckPath. Case counts. @throws Refusal 422 */
export function goModule(path: string): PackageName {
  const elements = path.split("/");
  const [domain = ""] = elements;
  const isPath =
    path.length <= nameLengthMax &&
    domainForm.test(domain) &&
    domain.includes(".") &&
    elements.every(
      (each) => elementForm.test(each) && !isReserved(each) && !/~\d+(?:\.|$)/.test(each),
    ) &&
    majorOf(path) !== undefined;
  if (!isPath) throw badName("This is not the path of a module, such as example.org/team/module.");
  return { name: path, groupId: "", artifactId: elements.at(-1) ?? path, key: path };
}

type Major = Readonly<{ major: number; isDotted: boolean }>;

/** The major version that a path ends in; 1 without one, undefined when it is not a valid one. */
function majorOf(path: string): Major | undefined {
  if (path.startsWith("gopkg.in/")) {
    const [, digits] = /\.v(0|[1-9]\d*)(?:-unstable)?$/.exec(path) ?? [];
    return digits === undefined ? undefined : { major: Number(digits), isDotted: true };
  }
  const [, digits] = /\/v(\d+)$/.exec(path) ?? [];
  if (digits === undefined) return { major: 1, isDotted: false };
  const major = Number(digits);
  return digits.startsWith("0") || major < 2 ? undefined : { major, isDotted: false };
}

/** A canonical version that fits the end of the module's path. @throws Refusal 422 */
export function goVersion(version: string, { name }: PackageName): PackageVersionName {
  const plain = version.replace(/\+incompatible$/, "");
  const found = majorOf(name);
  if (!versionForm.test(version) || semver.parse(plain) === null || found === undefined) {
    throw badVersion("A version is written v1.2.3, v1.2.3-pre or v2.0.0+incompatible.");
  }
  const major = semver.major(plain);
  const isIncompatible = plain !== version;
  const fits = found.isDotted
    ? major === found.major && !isIncompatible
    : isIncompatible
      ? found.major === 1 && major >= 2
      : found.major === 1
        ? major < 2
        : major === found.major;
  if (!fits) throw badVersion(`The version ${version} does not fit the module's path ${name}.`);
  return { version, key: version };
}

/** Whether goVersion takes it. */
export function isGoVersion(version: string, name: PackageName): boolean {
  try {
    return goVersion(version, name).version === version;
  } catch {
    return false;
  }
}

export const isPseudoVersion = (version: string): boolean => pseudoForm.test(version);

/**
 * The version that a query which is none itself means: `v2.0.0` of a module without go.mod, or a commit by at least 7
 * digits.
 */
export function goQueried(query: string, versions: readonly string[]): string | undefined {
  const incompatible = `${query}+incompatible`;
  if (versions.includes(incompatible)) return incompatible;
  if (!/^[0-9a-f]{7,40}$/.test(query)) return undefined;
  // A pseudo-version ends in the first 12 digits of its commit.
  const ofCommit = versions.filter(
    (each) => isPseudoVersion(each) && each.split("-").at(-1)?.startsWith(query.slice(0, 12)),
  );
  return ofCommit.sort(compareGo).at(-1);
}

/** Order of versions; `+incompatible` ones follow all others. */
export function compareGo(a: string, b: string): number {
  const isLater = (version: string) => (version.endsWith("+incompatible") ? 1 : 0);
  return isLater(a) - isLater(b) || semver.compare(a, b);
}

/** In paths, a capital is written as its small letter after an exclamation mark. */
const escapedGo = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);

/** Undefined for what is no escaped text. */
export function unescapedGo(text: string): string | undefined {
  const plain = text.replaceAll(/!([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return escapedGo(plain) === text ? plain : undefined;
}

export const goFileName = ({ version }: PackageVersionName): string => `${version}.zip`;

/** The go.mod of a module, as the proxy answers it. */
type GoModule = PackageFileName & Readonly<{ metadata: Readonly<{ mod: string }> }>;

/**
 * What a module zip is by the folder that all of its files stand in, `module@version`, checked as
 * golang.org/x/mod/zip does.
 *
 * @throws Refusal 422
 */
export async function readGoModule(file: string): Promise<GoModule> {
  const prefixes = new Set<string>();
  const contents = await walkZip(file, {
    entriesMax,
    bytesMax: moduleBytesMax,
    entry({ path, bytes, isFile }) {
      if (!isFile) throw badFile("The zip of a module holds no entries for folders.");
      const [, prefix = "", rest = ""] = /^([^@]+@[^/]+)\/(.+)$/.exec(path) ?? [];
      prefixes.add(prefix);
      if (prefixes.size > 1 || prefix === "") {
        throw badFile("All of its files stand in one folder, module@version.");
      }
      checkFilePath(rest, bytes);
      return rest === "go.mod";
    },
  });
  const [prefix = "@"] = prefixes;
  const [path = "", versionText = ""] = prefix.split("@");
  const packageName = goModule(path);
  const version = goVersion(versionText, packageName);
  const mod = contents.get(`${prefix}/go.mod`);
  const text = mod === undefined ? `module ${path}\n` : manifestText(mod, "go.mod");
  if (mod !== undefined) {
    if (versionText.endsWith("+incompatible")) {
      throw badFile("A module with a go.mod is not incompatible: its path ends in its version.");
    }
    const named = moduleNamed(text);
    if (named !== path) throw mismatch("module", path, named ?? "none");
  }
  const fileName = goFileName(version);
  return { packageName, version, fileName, languageVersion: goOf(text), metadata: { mod: text } };
}

const smallFiles: ReadonlyMap<string, number> = new Map([
  ["go.mod", goModBytesMax],
  ["LICENSE", smallFileBytesMax],
]);

function checkFilePath(path: string, bytes: number): void {
  const elements = path.split("/");
  const isPath = elements.every(
    (each) => fileElementForm.test(each) && !/^\.\.?$/.test(each) && !isReserved(each),
  );
  if (!isPath) throw badFile("It holds a file whose name not every system can have.");
  const name = elements.at(-1) ?? "";
  if (/^go\.mod$/i.test(name) && (elements.length > 1 || name !== "go.mod")) {
    throw badFile("A go.mod stands at the root only.");
  }
  const bytesMax = smallFiles.get(path);
  if (bytesMax !== undefined && bytes > bytesMax) {
    throw badFile(`Its ${path} is over ${bytesMax} bytes.`);
  }
}

/** go.dev/ref/mod#go-mod-file-module */
export function moduleNamed(mod: string): string | undefined {
  const plain = mod.replaceAll(/\/\/.*$/gm, "");
  const form = /module\s+(?:\(\s*)?("[^"\n]*"|`[^`\n]*`|[^\s()]+)/y;
  let start = 0;
  // Each line is tried once: `^\s*` would try every empty line with all that follow it.
  for (const line of plain.split("\n")) {
    form.lastIndex = start + line.length - line.trimStart().length;
    const [, path] = form.exec(plain) ?? [];
    if (path !== undefined) return path.replaceAll(/^["`]|["`]$/g, "");
    start += line.length + 1;
  }
  return undefined;
}

const goOf = (mod: string): string | null => /^go\s+(\S+)/m.exec(mod)?.[1] ?? null;
