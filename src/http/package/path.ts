import { z } from "zod";

import type { PackageType } from "../../events/package/version.ts";
import type { PackageFileName } from "../../platform/package/coordinates.ts";
import { genericName } from "../../platform/package/generic.ts";
import { npmName } from "../../platform/package/npm.ts";
import { pypiName } from "../../platform/package/pypi.ts";
import type { RoutePath } from "../core/route.ts";
import { packageParameters, versionName } from "./request.ts";

export type NamedFile = Pick<PackageFileName, "packageName" | "version" | "fileName">;

/** A path that names a file, to fetch it and to store it. */
export type PackagePath<Params extends z.ZodType = z.ZodType> = Readonly<{
  type: PackageType;
  path: RoutePath;
  /** What operation ids end in. */
  operation: string;
  params: Params;
  /** @throws Refusal 422 */
  named: (params: z.output<Params>) => NamedFile;
}>;

/** Checks the types of one path, then forgets them: the parameters are those of its own schema. */
export const packagePath = <Params extends z.ZodType>(path: PackagePath<Params>): PackagePath =>
  path as unknown as PackagePath;

const { packageName, packageVersion, packageScope, fileName } = packageParameters;
const FileParams = z.object({ packageName, packageVersion, fileName });

/** Where an ecosystem has files of any name in a version. */
export const packagePaths = {
  generic: packagePath({
    type: "generic",
    path: "/registry/package/generic/{packageName}/{packageVersion}/{fileName}",
    operation: "GenericPackageFile",
    params: z.object({
      packageName: packageParameters.genericName,
      packageVersion: packageParameters.genericVersion,
      fileName,
    }),
    named: (params) => ({
      packageName: genericName(params.packageName),
      version: versionName("generic", params.packageVersion),
      fileName: params.fileName,
    }),
  }),
  pypi: packagePath({
    type: "pypi",
    path: "/registry/package/pypi/{packageName}/{packageVersion}/{fileName}",
    operation: "PypiPackageFile",
    params: FileParams,
    named: (params) => ({
      packageName: pypiName(params.packageName),
      version: versionName("pypi", params.packageVersion),
      fileName: params.fileName,
    }),
  }),
  npm: packagePath({
    type: "npm",
    path: "/registry/package/npm/{packageName}/{packageVersion}/{fileName}",
    operation: "NpmPackageFile",
    params: FileParams,
    named: (params) => ({
      packageName: npmName(undefined, params.packageName),
      version: versionName("npm", params.packageVersion),
      fileName: params.fileName,
    }),
  }),
  scopedNpm: packagePath({
    type: "npm",
    path: "/registry/package/npm/{packageName}/{packageScope}/{packageVersion}/{fileName}",
    operation: "ScopedNpmPackageFile",
    params: FileParams.extend({ packageScope }),
    named: (params) => ({
      packageName: npmName(params.packageScope, params.packageName),
      version: versionName("npm", params.packageVersion),
      fileName: params.fileName,
    }),
  }),
} as const;
