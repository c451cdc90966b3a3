import {
  condaNames,
  condaSubdir,
  condaSubdirs,
  isFirstFormat,
} from "../../../../package/conda/format.ts";
import { readConda } from "../../../../package/file-reader.ts";
import { isRecord } from "../../../../platform/is-record.ts";
import { zstdFrame } from "../../../../platform/zstd-frame.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import { packagesWithFiles } from "../../../../projections/package/registry-index.ts";
import { orNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, jsonAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { dated } from "../core/dated.ts";
import {
  cachedDocument,
  metadataOf,
  type RepositoryState,
  stateOfRepository,
} from "../core/document.ts";
import { sendNamed } from "../core/send-file.ts";
import { deleteVersion } from "../core/store.ts";
import { type NativeCall, plainError, type RegistryType } from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";

const type = "conda";
const file = "(?<subdir>[^/]+)/(?<file>[^/]+\\.(?:conda|tar\\.bz2))";

/** Files of a channel by platform and name; of a name, the first repository's. */
async function filesBySubdir({ sources }: RepositoryState, deps: Deps) {
  const found = new Map<string, Map<string, ListedFile>>();
  for (const { id } of sources) {
    for await (const { row, files } of packagesWithFiles(deps.db, id)) {
      const own = found.get(row.group_id) ?? new Map<string, ListedFile>();
      found.set(row.group_id, own);
      for (const each of files) if (!own.has(each.name)) own.set(each.name, each);
    }
  }
  return found;
}

function recordOf(each: ListedFile): Readonly<Record<string, unknown>> {
  const metadata = metadataOf(each);
  const { md5, sha256 } = each;
  return { ...(isRecord(metadata) ? metadata : {}), md5, sha256, size: Number(each.bytes) };
}

/** docs.conda.io, "Channels": an empty one for each platform that nothing is for. */
const getRepodata: NativeCall = {
  method: "GET",
  path: /^(?<subdir>[^/]+)\/repodata\.json(?<packed>\.zst)?$/,
  right: "read",
  operationId: "get-conda-repodata",
  async handle(native, deps) {
    const subdir = orNotFound(() => condaSubdir(native.params["subdir"] ?? ""));
    const isPacked = native.params["packed"] !== undefined;
    const state = await stateOfRepository(native.repository, deps);
    const make = async (): Promise<Buffer> => {
      const files = (await filesBySubdir(state, deps)).get(subdir) ?? new Map();
      const records = [...files].map(([name, each]) => [name, recordOf(each)] as const);
      const ofFormat = (isFirst: boolean) =>
        Object.fromEntries(records.filter(([name]) => isFirstFormat(name) === isFirst));
      const document = {
        info: { subdir },
        packages: ofFormat(true),
        "packages.conda": ofFormat(false),
        removed: [],
        repodata_version: 1,
      };
      const json = Buffer.from(JSON.stringify(document));
      return isPacked ? await zstdFrame(json) : json;
    };
    const key = `conda:${subdir}:${isPacked}:${state.key}`;
    const body = await cachedDocument(key, make, ({ length }) => length);
    const contentType = isPacked ? "application/zstd" : "application/json";
    const answer = { status: 200, headers: { "Content-Type": contentType }, body };
    return await dated(native, state, answer, deps);
  },
};

const getChannel: NativeCall = {
  method: "GET",
  path: /^channeldata\.json$/,
  right: "read",
  operationId: "get-conda-channeldata",
  async handle(native, deps) {
    const state = await stateOfRepository(native.repository, deps);
    const packages = new Map<string, { version: string; subdirs: string[]; license?: unknown }>();
    for (const [subdir, files] of await filesBySubdir(state, deps)) {
      for (const each of files.values()) {
        const { name, license } = recordOf(each);
        const known = packages.get(String(name));
        const subdirs = [...new Set([...(known?.subdirs ?? []), subdir])].sort();
        packages.set(String(name), { version: each.version, subdirs, license });
      }
    }
    const document = {
      channeldata_version: 1,
      packages: Object.fromEntries(packages),
      subdirs: condaSubdirs,
    };
    return await dated(native, state, jsonAnswer(200, document), deps);
  },
};

const download: NativeCall = {
  method: "GET",
  path: new RegExp(`^${file}$`),
  right: "read",
  operationId: "download-conda-package",
  async handle(native, deps) {
    const { subdir = "", file: fileName = "" } = native.params;
    const named = orNotFound(() => condaNames(subdir, fileName));
    return sendNamed(native, type, { ...named, fileName }, deps);
  },
};

const upload: NativeCall = {
  method: "PUT",
  path: new RegExp(`^${file}$`),
  right: "write",
  operationId: "upload-conda-package",
  async handle(native, deps) {
    const { subdir = "", file: fileName = "" } = native.params;
    condaNames(subdir, fileName);
    const inspect = (at: string) => readConda(at, { fileName, subdir });
    await storeUpload(native, { type, inspect }, deps);
    return jsonAnswer(201, { subdir, fileName });
  },
};

const remove: NativeCall = {
  method: "DELETE",
  path: new RegExp(`^${file}$`),
  right: "write",
  operationId: "delete-conda-package",
  async handle(native, deps) {
    const { subdir = "", file: fileName = "" } = native.params;
    const named = () => orNotFound(() => condaNames(subdir, fileName));
    await deleteVersion(native, type, named, deps);
    return emptyAnswer(204);
  },
};

export const condaType: RegistryType = {
  packageType: type,
  takesPathTokens: true,
  errorBody: plainError,
  calls: [getRepodata, getChannel, download, upload, remove],
};
