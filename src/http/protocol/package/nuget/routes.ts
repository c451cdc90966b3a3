import { z } from "zod";
import {
  coordinatesOf,
  type PackageFileName,
  packageFileIdOf,
} from "../../../../package/core/coordinates.ts";
import { readNuspec } from "../../../../package/file-reader.ts";
import { nugetName, nugetVersion } from "../../../../package/nuget/format.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { findListedFile } from "../../../../projections/package/registry.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import { fileNotFound, orNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, jsonAnswer, streamAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { metadataOf } from "../core/document.ts";
import { sendNamed } from "../core/send-file.ts";
import { deploymentOf } from "../core/source.ts";
import { change } from "../core/store.ts";
import {
  type NativeCall,
  type NativeRequest,
  plainError,
  type RegistryType,
} from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";
import { nugetPackage, packageOf, type } from "./package.ts";
import { nugetKeptPaths, nugetProxy } from "./proxy.ts";
import { registrationCalls } from "./registration.ts";
import { proxiedSearchCalls, searchCalls } from "./search.ts";
import { serviceIndex } from "./service.ts";
import { symbolCalls } from "./symbol.ts";

const getServiceIndex: NativeCall = {
  method: "GET",
  path: /^(?:v3\/)?index\.json$/,
  right: "read",
  operationId: "get-nuget-service-index",
  handle: async ({ base }) => jsonAnswer(200, serviceIndex(base, "own")),
};

const listVersions: NativeCall = {
  method: "GET",
  path: /^flat\/(?<id>[^/]+)\/index\.json$/,
  right: "read",
  operationId: "list-nuget-versions",
  async handle(native, deps) {
    const { versions } = await packageOf(native, deps);
    return jsonAnswer(200, { versions: versions.map(({ key }) => key) });
  },
};

const download: NativeCall = {
  method: "GET",
  path: /^flat\/(?<id>[^/]+)\/(?<version>[^/]+)\/(?<file>[^/]+)\.(?<kind>s?nupkg|nuspec)$/,
  right: "read",
  operationId: "download-nuget-file",
  async handle(native, deps) {
    const { id = "", version = "", file = "", kind } = native.params;
    const of = orNotFound(() => ({ name: nugetName(id), version: nugetVersion(version) }));
    const expected = `${of.name.key}.${of.version.key}`;
    if (kind === "nuspec") {
      if (file.toLowerCase() !== of.name.key) throw fileNotFound();
      const found = await nugetPackage(of.name, native, deps);
      const one = found.versions.find(({ key }) => key === of.version.key);
      if (one === undefined) throw fileNotFound();
      return streamAnswer(200, { body: one.metadata.nuspec, type: "application/xml" });
    }
    if (file.toLowerCase() !== expected) throw fileNotFound();
    const { name: packageName, version: requested } = of;
    const named = { packageName, version: requested, fileName: `${expected}.${kind}` };
    return sendNamed(native, type, named, deps);
  },
};

/** The path of older clients too, which take the address of the repository for that of the feed. */
const publishPath = "(?:api/v2/)?package";

const push: NativeCall = {
  method: "PUT",
  path: new RegExp(`^${publishPath}/?$`),
  right: "write",
  operationId: "push-nuget-package",
  async handle(native, deps) {
    const target = await deploymentOf(native.repository, deps);
    const inspect = async (file: string) => {
      const found = await readNuspec(file);
      if (found.metadata.holdsPdb) await mustNotReplaceByPdbs(found, target, deps);
      return found;
    };
    await storeUpload(native, { type, inspect, ignoresFurther: true }, deps);
    return emptyAnswer(201);
  },
};

const Stored = z.object({ holdsPdb: z.boolean().optional() });

/**
 * `dotnet nuget push` sends a `.symbols.nupkg` like its package, under the same id and version and without its name.
 *
 * @throws Refusal 409
 */
async function mustNotReplaceByPdbs(
  { packageName, version, fileName }: PackageFileName,
  target: RegistryRepositoryRow,
  { db }: Deps,
): Promise<void> {
  const { packageVersionId } = coordinatesOf(target.id, type, { packageName, version });
  const stored = await findListedFile(db, packageFileIdOf(packageVersionId, fileName));
  if (stored === undefined || Stored.parse(metadataOf(stored)).holdsPdb !== false) return;
  const message = "The package already exists without PDBs. Push symbols as a .snupkg.";
  throw new Refusal("conflict", "package_file.exists", message);
}

async function list(
  { params, repository, request }: NativeRequest,
  isListed: boolean,
  deps: Deps,
): Promise<void> {
  const target = await deploymentOf(repository, deps);
  const named = orNotFound(() => ({
    packageName: nugetName(params["id"] ?? ""),
    version: nugetVersion(params["version"] ?? ""),
  }));
  const { packageId, packageVersionId: id } = coordinatesOf(target.id, type, named);
  const command = isListed
    ? ({ type: "UnyankPackageVersion", packageId } as const)
    : ({ type: "YankPackageVersion", packageId, reason: "" } as const);
  await change({ id, command }, request, deps);
}

/** What clients call deletion: searches do not show it, and a request that names the version still gets it. */
const unlist: NativeCall = {
  method: "DELETE",
  path: new RegExp(`^${publishPath}/(?<id>[^/]+)/(?<version>[^/]+)$`),
  right: "write",
  operationId: "unlist-nuget-package",
  async handle(native, deps) {
    await list(native, false, deps);
    return emptyAnswer(204);
  },
};

const relist: NativeCall = {
  ...unlist,
  method: "POST",
  operationId: "relist-nuget-package",
  async handle(native, deps) {
    await list(native, true, deps);
    return emptyAnswer(200);
  },
};

export const nugetType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  proxy: [...nugetProxy, ...proxiedSearchCalls],
  keptPaths: nugetKeptPaths,
  calls: [
    getServiceIndex,
    listVersions,
    download,
    ...registrationCalls,
    ...searchCalls,
    push,
    ...symbolCalls,
    unlist,
    relist,
  ],
};
