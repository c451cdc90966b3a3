import semver from "semver";

import { isRecord } from "../../platform/is-record.ts";
import {
  badFile,
  badName,
  badVersion,
  mismatch,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { readTarEntry } from "../core/tarball.ts";

const nameForm = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Files of these names cannot be made on Windows. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;
const manifestFile = { path: /^[^/]+\/Cargo\.toml$/, name: "Cargo.toml" };

/** Names of crates are compared without case, and with `-` for `_`. @throws Refusal 422 */
export function cargoName(name: string): PackageName {
  if (!nameForm.test(name) || reserved.test(name)) {
    throw badName("A crate's name is a letter, then letters, digits, - and _, 64 at most.");
  }
  const key = name.toLowerCase().replaceAll("_", "-");
  return { name, groupId: "", artifactId: name, key };
}

/** Build metadata makes no other version. @throws Refusal 422 */
export function cargoVersion(text: string): PackageVersionName {
  const version = semver.parse(text);
  if (version === null || /^[v=\s]/.test(text)) {
    throw badVersion("This is not a version as semver.org writes them.");
  }
  return { version: version.raw, key: version.version };
}

const crateFileName = ({ name }: PackageName, { version }: PackageVersionName): string =>
  `${name}-${version}.crate`;

/** Where the index has the line of a crate: doc.rust-lang.org/cargo/reference/registry-index.html */
export function cargoIndexPath(name: string): string {
  const lower = name.toLowerCase();
  if (lower.length <= 2) return `${lower.length}/${lower}`;
  if (lower.length === 3) return `3/${lower.slice(0, 1)}/${lower}`;
  return `${lower.slice(0, 2)}/${lower.slice(2, 4)}/${lower}`;
}

type Dependency = Readonly<Record<string, unknown>>;
type Crate = PackageFileName & Readonly<{ metadata: Readonly<Record<string, unknown>> }>;

/**
 * What a .crate is by its Cargo.toml, as cargo wrote it. What the client says beside it is not believed.
 *
 * @throws Refusal 422
 */
export async function readCrate(file: string): Promise<Crate> {
  const toml = await parseToml(await readTarEntry(file, manifestFile));
  const { package: about } = toml;
  if (!isRecord(about)) throw badFile("Its Cargo.toml has no package.");
  const packageName = cargoName(textOf(about["name"]));
  const version = cargoVersion(textOf(about["version"]));
  const features = isRecord(toml["features"]) ? toml["features"] : {};
  // Older clients stop at what they do not know of: that stands apart.
  const isNew = (values: unknown): boolean =>
    Array.isArray(values) && values.some((value) => /^dep:|\?\//.test(String(value)));
  const parts = Object.entries(features);
  const old = Object.fromEntries(parts.filter(([, values]) => !isNew(values)));
  const recent = Object.fromEntries(parts.filter(([, values]) => isNew(values)));
  const hasRecent = Object.keys(recent).length > 0;
  const rustVersion = about["rust-version"];
  const metadata = {
    deps: dependenciesOf(toml),
    features: old,
    ...(hasRecent && { features2: recent, v: 2 }),
    links: about["links"] ?? null,
    ...(typeof rustVersion === "string" && { rust_version: rustVersion }),
    description: typeof about["description"] === "string" ? about["description"] : null,
  };
  const fileName = crateFileName(packageName, version);
  return { packageName, version, fileName, languageVersion: null, metadata };
}

/** @throws Refusal 422 unless the crate is what it was sent as */
export function mustBeCrate(
  crate: Crate,
  announced: Readonly<{ name: string; vers: string }>,
): void {
  if (announced.name !== crate.packageName.name) {
    throw mismatch("name", announced.name, crate.packageName.name);
  }
  if (announced.vers !== crate.version.version)
    throw mismatch("version", announced.vers, crate.version.version);
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

async function parseToml(text: string): Promise<Readonly<Record<string, unknown>>> {
  // Loaded when the first crate is published.
  const { parse } = await import("smol-toml");
  try {
    return parse(text);
  } catch {
    throw badFile("Its Cargo.toml is not TOML.");
  }
}

const kinds = [
  ["dependencies", "normal"],
  ["dev-dependencies", "dev"],
  ["build-dependencies", "build"],
] as const;

function dependenciesOf(toml: Readonly<Record<string, unknown>>): readonly Dependency[] {
  const targets = isRecord(toml["target"]) ? Object.entries(toml["target"]) : [];
  const tables = [[null, toml] as const, ...targets];
  return tables.flatMap(([target, table]) =>
    kinds.flatMap(([field, kind]) => {
      const all = isRecord(table) ? table[field] : undefined;
      if (!isRecord(all)) return [];
      return Object.entries(all).map(([name, spec]) => dependency({ name, spec, kind, target }));
    }),
  );
}

type DependencyEntry = Readonly<{
  name: string;
  spec: unknown;
  kind: string;
  target: string | null;
}>;

function dependency({ name, spec, kind, target }: DependencyEntry): Dependency {
  const fields = isRecord(spec) ? spec : { version: spec };
  return {
    name,
    req: textOf(fields["version"]) || "*",
    features: Array.isArray(fields["features"]) ? fields["features"] : [],
    optional: fields["optional"] === true,
    default_features: fields["default-features"] !== false,
    target,
    kind,
    registry: fields["registry-index"] ?? null,
    package: fields["package"] ?? null,
  };
}
