import type { Readable } from "node:stream";
import { z } from "zod";
import { packageVersion } from "../../../commands/package/version.ts";
import {
  instanceRegistryId,
  type PackageCoordinates,
  type PackageType,
} from "../../../events/package/version.ts";
import { composerVersion } from "../../../package/composer/format.ts";
import {
  coordinatesOf,
  mustBeShort,
  type PackageFileName,
  packageFileIdOf,
} from "../../../package/core/coordinates.ts";
import {
  checkNpmTarball,
  checkPypiFile,
  readComposerPackage,
  readNuspec,
} from "../../../package/file-reader.ts";
import { mavenName } from "../../../package/maven/format.ts";
import type { HeldBlob } from "../../../platform/blob/blobs.ts";
import { invariant } from "../../../platform/invariant.ts";
import { Limit } from "../../../platform/limit.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Deps } from "../../core/deps.ts";
import { receiveAttachedFile } from "../../core/file/attached.ts";
import { headerClaims, mustMatchClaims, orRelease } from "../../core/file/checksum.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, type RoutePath, route } from "../../core/route.ts";
import { mustPresentVersion } from "./package.ts";
import { type NamedFile, type PackagePath, packagePath, packagePaths } from "./path.ts";
import { packageParameters, versionName } from "./request.ts";
import { PackageVersionView } from "./view.ts";

/** Looking into an archive can mean to unpack a gigabyte: of those few at a time. */
const inspections = new Limit({ name: "package.inspections", total: 2, whenFull: "wait" });

/** Looks into a file that came, and says what it is; throws when it is not what it should be. */
type Inspect = (file: string) => Promise<PackageFileName>;

type Upload<Params extends z.ZodObject> = Readonly<{
  type: PackageType;
  path: RoutePath;
  operationId: string;
  params?: Params;
  /** Of the path alone, before the body is read. @throws Refusal 422 */
  expect: (params: z.output<Params>) => Inspect;
}>;

function upload<Params extends z.ZodObject>(declared: Upload<Params>): Route {
  const { type, path, operationId, params } = declared;
  return route({
    method: "put",
    path,
    operationId,
    summary: `Store a file of a package of type ${type}`,
    description:
      "Makes the package and the version where there are none. A file of the same name is replaced.",
    tag: "Service-level packages",
    scope: "WRITE_REGISTRY",
    access: "admin",
    ...(params && { params: params as z.ZodObject }),
    attachment: true,
    reply: PackageVersionView,
    errors: [404],
    async handle({ params: given, request }, deps) {
      // A route without parameters expects none.
      const inspect = declared.expect(given as z.output<Params>);
      const stored = await receiveAttachedFile(request, {
        bytesMax: deps.config.packageFileBytesMax,
        take: (content) => storeContent(content, inspect, request, deps),
      });
      const coordinates = coordinatesOf(instanceRegistryId, type, stored.name);
      try {
        await recordFile(coordinates, stored, request, deps);
      } catch (error) {
        // What may have been appended stays held, for as long as it takes to be seen.
        if (error instanceof Refusal && error.kind !== "unavailable") await stored.blob.release();
        throw error;
      }
      await stored.blob.release();
      return mustPresentVersion(coordinates.packageVersionId, type, deps);
    },
  });
}

/** By a path that names the file; `check` returns the required version of the language. */
function uploadNamed(
  { type, path, operation, params, named }: PackagePath,
  check: (file: string, name: NamedFile) => Promise<string | null>,
): Route {
  return upload({
    type,
    path,
    operationId: `store${operation}`,
    params,
    expect(given) {
      const name = named(given);
      return async (file) => ({ ...name, languageVersion: await check(file, name) });
    },
  });
}

const { groupId, artifactId, version, fileName } = packageParameters;

const mavenPath = packagePath({
  type: "maven",
  path: "/registry/package/maven/{groupId}/{artifactId}/{version}/{fileName}",
  operation: "MavenPackageFile",
  params: z.object({ groupId, artifactId, version, fileName }),
  named: (params) => ({
    packageName: mavenName(params.groupId, params.artifactId),
    version: versionName("maven", params.version),
    fileName: params.fileName,
  }),
});

const anything = async (): Promise<null> => null;
const asNpm = (file: string, { packageName, version: of }: NamedFile) =>
  checkNpmTarball(file, packageName, of);

export const packageUploadRoutes: readonly Route[] = [
  uploadNamed(packagePaths.generic, anything),
  uploadNamed(packagePaths.pypi, (file, { fileName: name, packageName, version: of }) =>
    checkPypiFile(file, name, packageName, of),
  ),
  uploadNamed(packagePaths.npm, asNpm),
  uploadNamed(packagePaths.scopedNpm, asNpm),
  uploadNamed(mavenPath, anything),
  upload({
    type: "composer",
    path: "/registry/package/composer/{packageVersion}",
    operationId: "storeComposerPackage",
    params: z.object({ packageVersion: packageParameters.packageVersion }),
    expect({ packageVersion: text }) {
      const { version: of } = composerVersion(text);
      return (file) => readComposerPackage(file, of);
    },
  }),
  upload({
    type: "nuget",
    path: "/registry/package/nuget",
    operationId: "storeNugetPackage",
    expect: () => readNuspec,
  }),
];

type Stored = Readonly<{ name: PackageFileName; blob: HeldBlob }>;

async function storeContent(
  content: Readable,
  inspect: Inspect,
  { signal, header }: RequestFor<"admin">,
  { blobs, config: { packageFileBytesMax: bytesMax } }: Deps,
): Promise<Stored> {
  const found: { name?: PackageFileName } = {};
  const blob = await blobs.put(content, {
    bytesMax,
    signal,
    async inspect(file, bytes) {
      // Nobody means to replace a file by nothing: the attachment was forgotten.
      if (bytes === 0)
        throw new Refusal("unprocessable", "package.file_empty", "The file is empty.");
      found.name = await inspections.run(() => inspect(file));
      mustBeShort(found.name);
    },
  });
  invariant(found.name !== undefined, "what was stored was looked into");
  return await orRelease({ name: found.name, blob }, async () =>
    mustMatchClaims(headerClaims({ header }), blob.digests),
  );
}

async function recordFile(
  coordinates: PackageCoordinates,
  { name, blob }: Stored,
  request: RequestFor<"admin">,
  deps: Deps,
): Promise<void> {
  const { packageVersionId: id } = coordinates;
  const { fileName: fileNameOf, languageVersion } = name;
  const file = {
    fileId: packageFileIdOf(id, fileNameOf),
    name: fileNameOf,
    bytes: blob.bytes,
    ...blob.digests,
    uploadType: "API",
    languageVersion,
  } as const;
  const at = deps.now().toISOString();
  const { userId: by } = request;
  const command = { type: "StorePackageFile", coordinates, file, by, at } as const;
  await request.execute(packageVersion, id, command);
}
