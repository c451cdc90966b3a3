import type { PackageType } from "../events/package/version.ts";
import { isRecord } from "../platform/is-record.ts";
import { Refusal } from "../platform/refusal.ts";
import { cargoVersion } from "./cargo/format.ts";
import { checkCargo } from "./cargo/grammar.ts";
import { checkComposer } from "./composer/grammar.ts";
import { checkConda } from "./conda/grammar.ts";
import type { PackageFileName } from "./core/coordinates.ts";
import { checkCran } from "./cran/grammar.ts";
import { parseControl } from "./debian/format.ts";
import { checkDebian } from "./debian/grammar.ts";
import { checkGoMod } from "./go/grammar.ts";
import { helmName, helmVersion } from "./helm/format.ts";
import { checkHelm, type ShownChart } from "./helm/grammar.ts";
import { npmVersion } from "./npm/format.ts";
import { checkNpm } from "./npm/grammar.ts";
import { checkNugetDependencies, nugetName, nugetVersion } from "./nuget/format.ts";
import { metadataHead, pypiVersion } from "./pypi/format.ts";
import { checkPythonMetadata } from "./pypi/grammar.ts";
import { checkGem, gemName } from "./rubygem/format.ts";

/** A file of a package with what indexes show of it. */
export type ShownFile = Readonly<{
  name: string;
  /** As it was spelled. */
  version: string;
  metadata: unknown;
}>;

type Rule = (file: ShownFile) => void;
type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (metadata: unknown): Fields => (isRecord(metadata) ? metadata : {});

/**
 * What the client of each ecosystem must be able to parse: one version that it cannot parse makes it fail for all of a
 * package or of a repository.
 */
const rules: Partial<Readonly<Record<PackageType, Rule>>> = {
  nuget({ name, version, metadata }) {
    nugetName(name);
    nugetVersion(version);
    const { dependencyGroups = [] } = metadata as Partial<Nuspec>;
    checkNugetDependencies(dependencyGroups);
  },
  npm({ version, metadata }) {
    npmVersion(version);
    checkNpm(fieldsOf(metadata));
  },
  pypi({ version, metadata }) {
    pypiVersion(version);
    const { requiresPython, text } = fieldsOf(metadata);
    if (typeof text === "string") checkPythonMetadata(metadataHead(text));
    else if (typeof requiresPython === "string") {
      checkPythonMetadata(`Requires-Python: ${requiresPython}`);
    }
  },
  cargo({ version, metadata }) {
    cargoVersion(version);
    checkCargo(fieldsOf(metadata));
  },
  composer: ({ version, metadata }) => checkComposer(version, fieldsOf(metadata)),
  rubygem({ name, metadata }) {
    gemName(name);
    checkGem(metadata);
  },
  helm({ name, version, metadata }) {
    helmName(name);
    helmVersion(version);
    checkHelm(metadata as ShownChart);
  },
  debian: ({ metadata }) => {
    const { control } = fieldsOf(metadata);
    checkDebian(parseControl(String(control)).fields);
  },
  cran: ({ metadata }) => checkCran(fieldsOf(metadata)),
  conda: ({ version, metadata }) => checkConda(version, fieldsOf(metadata)),
  go: ({ metadata }) => {
    const { mod } = fieldsOf(metadata);
    if (typeof mod === "string") checkGoMod(mod);
  },
};

type Nuspec = Readonly<{ dependencyGroups: Parameters<typeof checkNugetDependencies>[0] }>;

/** @throws Refusal 422 with what the client of the ecosystem would not parse */
export function mustBeReadable(
  type: PackageType,
  { packageName, version, metadata }: PackageFileName & Readonly<{ metadata?: unknown }>,
): void {
  if (metadata === undefined) return;
  rules[type]?.({ name: packageName.name, version: version.version, metadata });
}

const reasonLengthMax = 500;

/**
 * Why clients cannot parse what was stored earlier.
 *
 * @param metadata JSON
 * @returns undefined when they can
 */
export function whyUnreadable(
  type: PackageType,
  { metadata, ...of }: Omit<ShownFile, "metadata"> & Readonly<{ metadata: string }>,
): string | undefined {
  const rule = rules[type];
  if (rule === undefined) return undefined;
  try {
    rule({ ...of, metadata: JSON.parse(metadata) });
    return undefined;
  } catch (error) {
    const reason = error instanceof Refusal ? error.message : "Its metadata is malformed.";
    return reason.replaceAll(/\p{Cc}/gu, "?").slice(0, reasonLengthMax);
  }
}
