import { z } from "zod";

import { PackageFileId, PackageId } from "../../../events/core/ids.ts";
import { instanceRegistryId } from "../../../events/package/version.ts";
import { composerFileName, composerName } from "../../../package/composer/format.ts";
import {
  packageFileIdOf,
  packageIdOf,
  packageVersionIdOf,
} from "../../../package/core/coordinates.ts";
import { nugetFileName, nugetName } from "../../../package/nuget/format.ts";
import { findPackage, findPackageFile } from "../../../projections/package/version.ts";
import type { StreamReply } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { reading } from "./package.ts";
import { type PackagePath, packagePath, packagePaths } from "./path.ts";
import { fileNotFound, orNotFound, packageParameters, versionName } from "./request.ts";
import { openPackageFile } from "./send-file.ts";

const { packageName, packageVersion, groupId, artifactId } = packageParameters;

const downloading = {
  ...reading,
  method: "get",
  description: "Answers parts of it to a request with Range.",
  reply: "stream",
} as const;

/** A download by names. */
function download({ type, path, operation, params, named }: PackagePath): Route {
  return route({
    ...downloading,
    path,
    operationId: `download${operation}`,
    summary: `Download a file of a package of type ${type}`,
    params,
    async handle({ params: given, request }, deps): Promise<StreamReply> {
      const { packageName: name, version, fileName } = orNotFound(() => named(given));
      const packageId = packageIdOf(instanceRegistryId, type, name);
      const versionId = packageVersionIdOf(packageId, version);
      return send({ versionId, fileId: packageFileIdOf(versionId, fileName) }, request, deps);
    },
  });
}

const downloadMavenFile = route({
  ...downloading,
  path: "/registry/package/maven/{packageUuid}/{packageVersion}/{fileUuid}/download",
  operationId: "downloadMavenPackageFile",
  summary: "Download a file of a package of type maven",
  params: z.object({ packageUuid: PackageId, packageVersion, fileUuid: PackageFileId }),
  async handle({ params, request }, deps): Promise<StreamReply> {
    const row = await findPackage(deps.db, instanceRegistryId, params.packageUuid);
    if (row === undefined || row.type !== "maven") throw fileNotFound();
    const version = orNotFound(() => versionName("maven", params.packageVersion));
    const versionId = packageVersionIdOf(row.id, version);
    return send({ versionId, fileId: params.fileUuid }, request, deps);
  },
});

const composerPath = packagePath({
  type: "composer",
  path: "/registry/package/composer/{groupId}/{artifactId}/{packageVersion}",
  operation: "ComposerPackage",
  params: z.object({ groupId, artifactId, packageVersion }),
  named(params) {
    const name = composerName(params.groupId, params.artifactId);
    const version = versionName("composer", params.packageVersion);
    return { packageName: name, version, fileName: composerFileName(name, version) };
  },
});

const nugetPath = packagePath({
  type: "nuget",
  path: "/registry/package/nuget/{packageName}/{packageVersion}",
  operation: "NugetPackage",
  params: z.object({ packageName, packageVersion }),
  named(params) {
    const name = nugetName(params.packageName);
    const version = versionName("nuget", params.packageVersion);
    return { packageName: name, version, fileName: nugetFileName(name, version) };
  },
});

export const packageDownloadRoutes: readonly Route[] = [
  downloadMavenFile,
  ...[...Object.values(packagePaths), composerPath, nugetPath].map(download),
];

type Wanted = Readonly<{ versionId: string; fileId: string }>;

async function send(
  { versionId, fileId }: Wanted,
  request: Pick<RequestContext, "header">,
  deps: Deps,
): Promise<StreamReply> {
  const find = async () => {
    const row = await findPackageFile(deps.db, versionId, fileId);
    return row && { ...row, version_id: versionId };
  };
  return (await openPackageFile(find, request, deps)).reply;
}
