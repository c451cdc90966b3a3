import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import {
  debFileName,
  debianName,
  debianPlace,
  debianVersion,
} from "../../../../package/debian/format.ts";
import { readDeb } from "../../../../package/file-reader.ts";
import { fileNotFound, orNotFound } from "../../../api/package/request.ts";
import { type Answer, emptyAnswer, jsonAnswer, textAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { dated } from "../core/dated.ts";
import { sendNamed } from "../core/send-file.ts";
import { getSigningKey } from "../core/signing.ts";
import { deleteVersion } from "../core/store.ts";
import {
  type NativeCall,
  type NativeRequest,
  plainError,
  type RegistryType,
} from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";
import {
  type DebianList,
  type Distribution,
  distributionOf,
  listByHash,
} from "./index-document.ts";

const type = "debian";
const dist = "dists/(?<distribution>[^/]+)";
const pool = "pool/(?<distribution>[^/]+)/(?<component>[^/]+)";

async function mustFind(native: NativeRequest, deps: Deps): Promise<Distribution> {
  const name = native.params["distribution"] ?? "";
  const found = await distributionOf(native.repository, name, deps);
  if (found === undefined) throw fileNotFound();
  return found;
}

const getRelease: NativeCall = {
  method: "GET",
  path: new RegExp(`^${dist}/(?<file>InRelease|Release|Release\\.gpg)$`),
  right: "read",
  operationId: "get-debian-release",
  async handle(native, deps) {
    const { release, signed, signature, state } = await mustFind(native, deps);
    const files: Readonly<Record<string, string>> = {
      InRelease: signed,
      Release: release,
      "Release.gpg": signature,
    };
    const answer = textAnswer(files[native.params["file"] ?? ""] ?? "");
    return await dated(native, state, answer, deps);
  },
};

async function listAnswer(list: DebianList, isPacked: boolean): Promise<Answer> {
  if (isPacked) return textAnswer(list.gzipped, "application/gzip");
  return textAnswer(await promisify(gunzip)(list.gzipped));
}

const getList: NativeCall = {
  method: "GET",
  path: new RegExp(`^${dist}/(?<path>[^/]+/binary-[^/]+/Packages)(?<packed>\\.gz)?$`),
  right: "read",
  operationId: "get-debian-packages",
  async handle(native, deps) {
    const { lists, state } = await mustFind(native, deps);
    const list = lists.get(native.params["path"] ?? "");
    if (list === undefined) throw fileNotFound();
    const answer = await listAnswer(list, native.params["packed"] !== undefined);
    return await dated(native, state, answer, deps);
  },
};

const getByHash: NativeCall = {
  method: "GET",
  path: new RegExp(`^${dist}/[^/]+/binary-[^/]+/by-hash/SHA256/(?<hash>[0-9a-f]{64})$`),
  right: "read",
  operationId: "get-debian-packages-by-hash",
  async handle(native, deps) {
    const hash = native.params["hash"] ?? "";
    const kept = listByHash(native.repository, hash);
    const fits = ({ plain, packed }: DebianList) => plain.sha256 === hash || packed.sha256 === hash;
    const list = kept ?? [...(await mustFind(native, deps)).lists.values()].find(fits);
    if (list === undefined) throw fileNotFound();
    return listAnswer(list, list.packed.sha256 === hash);
  },
};

const namedBy = ({ params }: NativeRequest, version: string) => {
  const { distribution = "", component = "", name = "" } = params;
  const packageName = debianName(name, debianPlace(distribution, component));
  return { packageName, version: debianVersion(version) };
};

const download: NativeCall = {
  method: "GET",
  path: new RegExp(`^${pool}/(?<name>[^/]+)/(?<epoch>\\d{1,9})/(?<file>[^/]+\\.deb)$`),
  right: "read",
  operationId: "download-debian-package",
  async handle(native, deps) {
    const { epoch = "", name = "", file: fileName = "" } = native.params;
    const [, upstream = "", architecture = ""] = fileName.slice(0, -".deb".length).split("_");
    const of = orNotFound(() => namedBy(native, `${epoch}:${upstream}`));
    if (fileName !== debFileName(name, of.version.version, architecture)) throw fileNotFound();
    return sendNamed(native, type, { ...of, fileName }, deps);
  },
};

const upload: NativeCall = {
  method: "PUT",
  path: new RegExp(`^${pool}/upload$`),
  right: "write",
  operationId: "upload-debian-package",
  async handle(native, deps) {
    const { distribution = "", component = "" } = native.params;
    const place = debianPlace(distribution, component);
    const inspect = (file: string) => readDeb(file, place);
    // apt takes a package whose content changed for a damaged one, for ever.
    const { inspected } = await storeUpload(native, { type, inspect, isImmutable: true }, deps);
    const { packageName, version, fileName } = inspected;
    return jsonAnswer(201, { package: packageName.name, version: version.version, fileName });
  },
};

const remove: NativeCall = {
  method: "DELETE",
  path: new RegExp(`^${pool}/(?<name>[^/]+)/(?<version>[^/]+)$`),
  right: "write",
  operationId: "delete-debian-version",
  async handle(native, deps) {
    const named = () => orNotFound(() => namedBy(native, native.params["version"] ?? ""));
    await deleteVersion(native, type, named, deps);
    return emptyAnswer(204);
  },
};

export const debianType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  calls: [getSigningKey, getRelease, getList, getByHash, download, upload, remove],
};
