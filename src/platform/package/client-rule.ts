import type { PackageType } from "../../events/package/version.ts";
import { Refusal } from "../refusal.ts";
import type { PackageFileName } from "./coordinates.ts";
import { checkNugetDependencies, nugetName, nugetVersion } from "./nuget.ts";

/** A file of a package with what indexes show of it. */
export type ShownFile = Readonly<{
  name: string;
  /** As it was spelled. */
  version: string;
  metadata: unknown;
}>;

type Rule = (file: ShownFile) => void;

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
