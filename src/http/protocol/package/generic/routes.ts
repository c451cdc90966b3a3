import type { PackageType } from "../../../../events/package/version.ts";
import {
  badName,
  badVersion,
  coordinatesOf,
  type PackageName,
  type PackageVersionName,
  packageFileIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { filesOfVersion, findListedFile } from "../../../../projections/package/registry.ts";
import { versionNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, jsonAnswer } from "../../../core/answer.ts";
import { HttpRefusal } from "../../../core/errors.ts";
import { receiveAttachedFile } from "../../../core/file/attached.ts";
import { sendNamed } from "../core/send-file.ts";
import { deploymentOf, packageIdsIn } from "../core/source.ts";
import {
  deleteFile,
  deleteVersion,
  type Inspected,
  receive,
  record,
  uploadBytesMax,
} from "../core/store.ts";
import { plainError, type RegistryType } from "../core/type.ts";

const form = /^[A-Za-z0-9._+~@-](?:[A-Za-z0-9._+~@ -]{0,253}[A-Za-z0-9._+~@-])?$/;
const filePath = /^(?<name>[^/]+)\/(?<version>[^/]+)\/(?<file>[^/]+)$/;
const versionPath = /^(?<name>[^/]+)\/(?<version>[^/]+)\/?$/;

function fileCalls(type: PackageType): RegistryType["calls"] {
  return [
    {
      method: "GET",
      path: filePath,
      right: "read",
      operationId: `download-${type}-file`,
      handle: async (native, deps) => sendNamed(native, type, namedBy(native.params), deps),
    },
    {
      method: "DELETE",
      path: filePath,
      right: "write",
      operationId: `delete-${type}-file`,
      async handle(native, deps) {
        await deleteFile(native, type, () => namedBy(native.params), deps);
        return emptyAnswer(204);
      },
    },
    {
      method: "PUT",
      path: filePath,
      right: "write",
      operationId: `store-${type}-file`,
      async handle({ params, repository, request, mustStill }, deps) {
        const target = await deploymentOf(repository, deps);
        const name = namedBy(params);
        const onlyNew = request.header("if-none-match") === "*";
        const { packageVersionId: id } = coordinatesOf(target.id, type, name);
        const fileId = packageFileIdOf(id, name.fileName);
        if (onlyNew && (await findListedFile(deps.db, fileId)) !== undefined) throw exists();
        const inspect = async () => name;
        const received = await receiveAttachedFile(request, {
          bytesMax: await uploadBytesMax(target, deps),
          take: (content) => receive(content, { target, inspect, mayBeEmpty: true }, request, deps),
        });
        await record(received, { target, type, mustStill }, request, deps);
        const { digest: sha256, bytes } = received.blob;
        return jsonAnswer(201, { name: params["name"], version: params["version"], sha256, bytes });
      },
    },
  ];
}

function versionCalls(type: PackageType): RegistryType["calls"] {
  return [
    {
      method: "GET",
      path: versionPath,
      right: "read",
      operationId: `list-${type}-files`,
      async handle({ params, repository }, deps) {
        const { packageName: name, version } = namedBy({ ...params, file: "list" });
        for (const id of await packageIdsIn(repository, { type, name }, deps)) {
          const files = await filesOfVersion(deps.db, packageVersionIdOf(id, version));
          if (files.length === 0) continue;
          const items = files.map(({ name: file, bytes, sha256 }) => ({
            name: file,
            bytes: Number(bytes),
            sha256,
          }));
          return jsonAnswer(200, {
            name: params["name"],
            version: params["version"],
            files: items,
          });
        }
        throw versionNotFound();
      },
    },
    {
      method: "DELETE",
      path: versionPath,
      right: "write",
      operationId: `delete-${type}-version`,
      async handle(native, deps) {
        const named = () => namedBy({ ...native.params, file: "list" });
        await deleteVersion(native, type, named, deps);
        return emptyAnswer(204);
      },
    },
  ];
}

/** Files by name, version and file name; opm keeps its packages the same way. */
const filesType = (type: PackageType): RegistryType => ({
  packageType: type,
  calls: [...fileCalls(type), ...versionCalls(type)],
  errorBody: plainError,
});

export const genericType = filesType("generic");
export const opmType = filesType("opm");

type FileName = Inspected &
  Readonly<{ packageName: PackageName; version: PackageVersionName; fileName: string }>;

/** @throws Refusal 422 */
function namedBy(params: Readonly<Record<string, string>>): FileName {
  const { name = "", version = "", file = "" } = params;
  if (!form.test(name) || !form.test(file)) {
    throw badName("A name is 1 to 255 letters, digits, spaces inside and ._+~@- characters.");
  }
  if (!form.test(version)) {
    throw badVersion("A version is 1 to 255 letters, digits, spaces inside and ._+~@- characters.");
  }
  return {
    packageName: { name, groupId: "", artifactId: name, key: name },
    version: { version, key: version },
    fileName: file,
    languageVersion: null,
  };
}

function exists(): HttpRefusal {
  return new HttpRefusal(412, "package_file.exists", "The file exists already.");
}
