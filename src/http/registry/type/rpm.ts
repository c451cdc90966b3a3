import {
  coordinatesOf,
  packageFileIdOf,
  packageVersionIdOf,
} from "../../../platform/package/coordinates.ts";
import { readRpm } from "../../../platform/package/reader/file-reader.ts";
import { rpmFileName, rpmName, rpmVersion } from "../../../platform/package/rpm.ts";
import { type Answer, emptyAnswer, jsonAnswer } from "../../core/answer.ts";
import { fileNotFound, orNotFound } from "../../package/request.ts";
import { dated } from "../document.ts";
import { sendFile } from "../send-file.ts";
import { getSigningKey } from "../signing.ts";
import { deploymentOf, mustAllowDeletion, packageIdsFor } from "../source.ts";
import { change } from "../store.ts";
import { type NativeCall, plainError, type RegistryType } from "../type.ts";
import { storeUpload } from "../upload.ts";
import { rpmList, rpmRepository } from "./rpm-index.ts";

const type = "rpm";

const answer = (body: string | Buffer, contentType: string): Answer => ({
  status: 200,
  headers: { "Content-Type": contentType },
  body,
});

const getRoot: NativeCall = {
  method: "GET",
  path: /^repodata\/repomd\.xml(?<signature>\.asc)?$/,
  right: "read",
  operationId: "get-rpm-root",
  async handle(native, deps) {
    const { repomd, signature, state } = await rpmRepository(native.repository, deps);
    const found =
      native.params["signature"] === undefined
        ? answer(repomd, "application/xml")
        : answer(signature, "application/pgp-signature");
    return dated(native, state, found, deps);
  },
};

/** Where zypper looks for it. */
const getKey: NativeCall = { ...getSigningKey, path: /^repodata\/repomd\.xml\.key$/ };

const getList: NativeCall = {
  method: "GET",
  path: /^repodata\/(?<hash>[0-9a-f]{64})-(?<kind>primary|filelists|other)\.xml\.gz$/,
  right: "read",
  operationId: "get-rpm-list",
  async handle({ params, repository }, deps) {
    const { hash: sha256 = "", kind = "" } = params;
    const list = await rpmList(repository, { sha256, kind }, deps);
    if (list === undefined) throw fileNotFound();
    return answer(list, "application/gzip");
  },
};

const download: NativeCall = {
  method: "GET",
  path: /^packages\/(?<name>[^/]+)\/(?<epoch>\d{1,9})\/(?<file>[^/]+)\.(?<architecture>[^/.]+)\.rpm$/,
  right: "read",
  operationId: "download-rpm-package",
  async handle({ params, repository, request }, deps) {
    const { name = "", epoch = "", file = "", architecture = "" } = params;
    if (!file.startsWith(`${name}-`)) throw fileNotFound();
    const of = orNotFound(() => ({
      name: rpmName(name),
      version: rpmVersion(`${epoch}:${file.slice(name.length + 1)}`),
    }));
    const ids = await packageIdsFor(repository, { type, name: of.name }, deps);
    const fileName = rpmFileName(name, of.version.version, architecture);
    const fileIds = ids.map((id) => packageFileIdOf(packageVersionIdOf(id, of.version), fileName));
    return sendFile(fileIds, request, deps);
  },
};

const upload: NativeCall = {
  method: "PUT",
  path: /^upload\/?$/,
  right: "write",
  operationId: "upload-rpm-package",
  async handle(native, deps) {
    // Clients keep lists that name its digest.
    const stored = await storeUpload(native, { type, inspect: readRpm, isImmutable: true }, deps);
    const { packageName, version, fileName } = stored.inspected;
    return jsonAnswer(201, { package: packageName.name, version: version.version, fileName });
  },
};

const remove: NativeCall = {
  method: "DELETE",
  path: /^packages\/(?<name>[^/]+)\/(?<version>[^/]+)$/,
  right: "write",
  operationId: "delete-rpm-version",
  async handle({ params, repository, request }, deps) {
    const target = await deploymentOf(repository, deps);
    mustAllowDeletion(target);
    const named = orNotFound(() => ({
      packageName: rpmName(params["name"] ?? ""),
      version: rpmVersion(params["version"] ?? ""),
    }));
    const { packageId, packageVersionId: id } = coordinatesOf(target.id, type, named);
    await change({ id, command: { type: "DeletePackageVersion", packageId } }, request, deps);
    return emptyAnswer(204);
  },
};

export const rpmType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  calls: [getSigningKey, getKey, getRoot, getList, download, upload, remove],
};
