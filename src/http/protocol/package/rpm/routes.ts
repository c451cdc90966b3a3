import { readRpm } from "../../../../package/file-reader.ts";
import { rpmFileName, rpmName, rpmVersion } from "../../../../package/rpm/format.ts";
import { fileNotFound, orNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, jsonAnswer, textAnswer } from "../../../core/answer.ts";
import { dated } from "../core/dated.ts";
import { sendNamed } from "../core/send-file.ts";
import { getSigningKey } from "../core/signing.ts";
import { deleteVersion } from "../core/store.ts";
import { type NativeCall, plainError, type RegistryType } from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";
import { rpmList, rpmRepository } from "./index-document.ts";

const type = "rpm";

const getRoot: NativeCall = {
  method: "GET",
  path: /^repodata\/repomd\.xml(?<signature>\.asc)?$/,
  right: "read",
  operationId: "get-rpm-root",
  async handle(native, deps) {
    const { repomd, signature, state } = await rpmRepository(native.repository, deps);
    const found =
      native.params["signature"] === undefined
        ? textAnswer(repomd, "application/xml")
        : textAnswer(signature, "application/pgp-signature");
    return await dated(native, state, found, deps);
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
    return textAnswer(list, "application/gzip");
  },
};

const download: NativeCall = {
  method: "GET",
  path: /^packages\/(?<name>[^/]+)\/(?<epoch>\d{1,9})\/(?<file>[^/]+)\.(?<architecture>[^/.]+)\.rpm$/,
  right: "read",
  operationId: "download-rpm-package",
  async handle(native, deps) {
    const { name = "", epoch = "", file = "", architecture = "" } = native.params;
    if (!file.startsWith(`${name}-`)) throw fileNotFound();
    const of = orNotFound(() => ({
      packageName: rpmName(name),
      version: rpmVersion(`${epoch}:${file.slice(name.length + 1)}`),
    }));
    const fileName = rpmFileName(name, of.version.version, architecture);
    return sendNamed(native, type, { ...of, fileName }, deps);
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
  async handle(native, deps) {
    const { name = "", version = "" } = native.params;
    const named = () => ({ packageName: rpmName(name), version: rpmVersion(version) });
    await deleteVersion(native, type, () => orNotFound(named), deps);
    return emptyAnswer(204);
  },
};

export const rpmType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  calls: [getSigningKey, getKey, getRoot, getList, download, upload, remove],
};
