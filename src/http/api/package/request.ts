import { z } from "zod";

import type { PackageType } from "../../../events/package/version.ts";
import { composerVersion } from "../../../package/composer/format.ts";
import type { PackageVersionName } from "../../../package/core/coordinates.ts";
import { genericVersion, plainVersion } from "../../../package/generic/format.ts";
import { npmVersion } from "../../../package/npm/format.ts";
import { nugetVersion } from "../../../package/nuget/format.ts";
import { pypiVersion } from "../../../package/pypi/format.ts";
import { Refusal } from "../../../platform/refusal.ts";

/**
 * A part of a path that names something of a package: no spaces, slashes or characters beyond
 * ASCII, so that no two names look alike or turn into another on the way.
 */
const segment = (example: string) =>
  z
    .string()
    .max(255)
    .regex(/^[A-Za-z0-9_~@][A-Za-z0-9._+~@!()=,-]*$/)
    .meta({ examples: [example] });

/** Checked where it is used: a text that is no name of a package gets 422. */
const anySegment = (example: string) =>
  z
    .string()
    .max(1_024)
    .meta({ examples: [example] });

export const packageParameters = {
  genericName: anySegment("left-pad"),
  genericVersion: anySegment("1.0.0"),
  packageName: segment("left-pad"),
  packageScope: segment("acme").meta({ description: "With or without its @." }),
  packageVersion: segment("1.0.0"),
  version: segment("1.0.0"),
  groupId: segment("acme"),
  artifactId: segment("left-pad"),
  fileName: segment("left-pad-1.0.0.tgz"),
} as const;

/** What counts as the same version, in each ecosystem. */
const versionNames: Readonly<Partial<Record<PackageType, (text: string) => PackageVersionName>>> = {
  generic: genericVersion,
  npm: npmVersion,
  pypi: pypiVersion,
  nuget: nugetVersion,
  composer: composerVersion,
};

/** @throws Refusal 422 */
export const versionName = (type: PackageType, text: string): PackageVersionName =>
  (versionNames[type] ?? plainVersion)(text);

/** Of what nobody may call so there is none. @throws what else `find` throws */
export function orNotFound<Found>(find: () => Found): Found {
  try {
    return find();
  } catch (error) {
    if (error instanceof Refusal && error.kind === "unprocessable") throw packageNotFound();
    throw error;
  }
}

export function packageNotFound(): Refusal {
  return new Refusal("not_found", "package.not_found", "There is no such package.");
}

export function versionNotFound(): Refusal {
  return new Refusal("not_found", "package_version.not_found", "There is no such version.");
}

export function fileNotFound(): Refusal {
  return new Refusal("not_found", "package_file.not_found", "There is no such file.");
}
