import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  compareCran,
  cranFileName,
  cranName,
  cranPlace,
  cranVersion,
} from "../../../../package/cran/format.ts";
import { readCran } from "../../../../package/file-reader.ts";
import { isRecord } from "../../../../platform/is-record.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import { packagesWithFiles } from "../../../../projections/package/registry-index.ts";
import { fileNotFound, orNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, jsonAnswer, textAnswer } from "../../../core/answer.ts";
import { dated } from "../core/dated.ts";
import { cachedDocument, metadataOf, stateOfRepository } from "../core/document.ts";
import { sendNamed } from "../core/send-file.ts";
import { deleteVersion } from "../core/store.ts";
import {
  type NativeCall,
  type NativeRequest,
  plainError,
  type RegistryType,
} from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";

const type = "cran";
const place = "(?<place>src/contrib|bin/(?:[^/]+/){1,2}contrib/[^/]+)";

/** R, "PACKAGES": a stanza for the newest version of each package. */
const getPackages: NativeCall = {
  method: "GET",
  path: new RegExp(`^${place}/PACKAGES(?<packed>\\.gz)?$`),
  right: "read",
  operationId: "get-cran-packages",
  async handle(native, deps) {
    const { path } = orNotFound(() => cranPlace(native.params["place"] ?? ""));
    const isPacked = native.params["packed"] !== undefined;
    const state = await stateOfRepository(native.repository, deps);
    const make = async (): Promise<Buffer> => {
      const newest = new Map<string, ListedFile>();
      for (const { id } of state.sources) {
        for await (const { row, files } of packagesWithFiles(deps.db, id)) {
          if (row.group_id !== path) continue;
          for (const file of files) {
            const known = newest.get(row.name);
            const isNewer = known === undefined || compareCran(file.version, known.version) > 0;
            if (isNewer) newest.set(row.name, file);
          }
        }
      }
      const text = Buffer.from([...newest.values()].map(stanza).join("\n"));
      return isPacked ? promisify(gzip)(text) : text;
    };
    const key = `cran:${path}:${isPacked}:${state.key}`;
    const body = await cachedDocument(key, make, ({ length }) => length);
    const contentType = isPacked ? "application/gzip" : "text/plain; charset=utf-8";
    return await dated(native, state, textAnswer(body, contentType), deps);
  },
};

function stanza(file: ListedFile): string {
  const metadata = metadataOf(file);
  const fields = isRecord(metadata) ? Object.entries(metadata) : [];
  const all = [...fields, ["MD5sum", file.md5], ["File", file.name]];
  return all.map(([key, value]) => `${key}: ${value}\n`).join("");
}

const fileForm = /^(?<name>[^_/]+)_(?<version>[^_/]+?)(?<ending>\.tar\.gz|\.zip|\.tgz)$/;

/** @throws Refusal 422 */
function namedBy({ params }: Pick<NativeRequest, "params">) {
  const at = cranPlace(params["place"] ?? "");
  const { name = "", version = "" } = fileForm.exec(params["file"] ?? "")?.groups ?? {};
  const packageName = cranName(name, at);
  const of = { packageName, version: cranVersion(version) };
  const fileName = cranFileName(name, version, at);
  if (fileName === params["file"]) return { ...of, at, fileName };
  const message = `A package here is named {name}_{version}${at.ending}.`;
  throw new Refusal("unprocessable", "package.name_invalid", message);
}

const download: NativeCall = {
  method: "GET",
  path: new RegExp(`^${place}/(?:Archive/(?<archived>[^/]+)/)?(?<file>[^/]+)$`),
  right: "read",
  operationId: "download-cran-package",
  async handle(native, deps) {
    const named = orNotFound(() => namedBy(native));
    const { name } = named.packageName;
    if ((native.params["archived"] ?? name) !== name) throw fileNotFound();
    return sendNamed(native, type, named, deps);
  },
};

const upload: NativeCall = {
  method: "PUT",
  path: new RegExp(`^${place}/(?<file>[^/]+)$`),
  right: "write",
  operationId: "upload-cran-package",
  async handle(native, deps) {
    const { at, fileName } = namedBy(native);
    const inspect = async (file: string) => {
      const found = await readCran(file, at);
      if (found.fileName === fileName) return found;
      const message = `The package is ${found.fileName}, not ${fileName}.`;
      throw new Refusal("unprocessable", "package.file_mismatch", message);
    };
    const { inspected } = await storeUpload(native, { type, inspect }, deps);
    const { packageName, version } = inspected;
    return jsonAnswer(201, { package: packageName.name, version: version.version });
  },
};

const remove: NativeCall = {
  method: "DELETE",
  path: new RegExp(`^${place}/(?<file>[^/]+)$`),
  right: "write",
  operationId: "delete-cran-version",
  async handle(native, deps) {
    await deleteVersion(native, type, () => orNotFound(() => namedBy(native)), deps);
    return emptyAnswer(204);
  },
};

export const cranType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  calls: [getPackages, download, upload, remove],
};
