import { z } from "zod";

import type { PackageType } from "../../../events/package/version.ts";
import type { PackageFileName } from "../../../package/core/coordinates.ts";
import { genericName } from "../../../package/generic/format.ts";
import { npmName } from "../../../package/npm/format.ts";
import { pypiName } from "../../../package/pypi/format.ts";
import type { RoutePath } from "../../core/route.ts";
import { packageParameters, versionName } from "./request.ts";

export type NamedFile = Pick<PackageFileName, "packageName" | "version" | "fileName">;

/** A path that names a file, to fetch it and to store it. */
export type PackagePath<Params extends z.ZodObject = z.ZodObject> = Readonly<{
  type: PackageType;
  path: RoutePath;
  /** What operation ids end in. */
  operation: string;
  params: Params;
  /** @throws Refusal 422 */
  named: (params: z.output<Params>) => NamedFile;
}>;

/** Checks the types of one path, then forgets them: the parameters are those of its own schema. */
export const packagePath = <Params extends z.ZodObject>(path: PackagePath<Params>): PackagePath =>
  path as unknown as PackagePath;

const fileOf = (
  type: PackageType,
  packageName: PackageFileName["packageName"],
  { packageVersion, fileName }: Readonly<{ packageVersion: string; fileName: string }>,
): NamedFile => ({ packageName, version: versionName(type, packageVersion), fileName });

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
    named: (params) => fileOf("generic", genericName(params.packageName), params),
  }),
  pypi: packagePath({
    type: "pypi",
    path: "/registry/package/pypi/{packageName}/{packageVersion}/{fileName}",
    operation: "PypiPackageFile",
    params: FileParams,
    named: (params) => fileOf("pypi", pypiName(params.packageName), params),
  }),
  npm: packagePath({
    type: "npm",
    path: "/registry/package/npm/{packageName}/{packageVersion}/{fileName}",
    operation: "NpmPackageFile",
    params: FileParams,
    named: (params) => fileOf("npm", npmName(undefined, params.packageName), params),
  }),
  scopedNpm: packagePath({
    type: "npm",
    path: "/registry/package/npm/{packageName}/{packageScope}/{packageVersion}/{fileName}",
    operation: "ScopedNpmPackageFile",
    params: FileParams.extend({ packageScope }),
    named: (params) => fileOf("npm", npmName(params.packageScope, params.packageName), params),
  }),
} as const;
