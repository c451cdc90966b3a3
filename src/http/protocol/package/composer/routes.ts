import {
  composerFileName,
  composerName,
  composerVersion,
  isComposerDev,
  normalizedComposerVersion,
} from "../../../../package/composer/format.ts";
import type { PackageName } from "../../../../package/core/coordinates.ts";
import { readComposerPackage } from "../../../../package/file-reader.ts";
import { typeTrait } from "../../../../package/searched.ts";
import { isRecord } from "../../../../platform/is-record.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import {
  searchNames,
  searchPackages,
  wordsIn,
} from "../../../../projections/package/registry-index.ts";
import { orNotFound, packageNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, jsonAnswer } from "../../../core/answer.ts";
import { dated } from "../core/dated.ts";
import { filesNamed, metadataOf, stateOfRepository } from "../core/document.ts";
import { sendNamed } from "../core/send-file.ts";
import { localSources } from "../core/source.ts";
import { deleteVersion } from "../core/store.ts";
import type { NativeCall, NativeRequest, RegistryType } from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";

const type = "composer";
const name = "(?<vendor>[^/]+)/(?<package>[^/]+?)";
const perPageMax = 100;
const listMax = 100_000;

const nameIn = ({ params }: Pick<NativeRequest, "params">): PackageName =>
  orNotFound(() => composerName(params["vendor"] ?? "", params["package"] ?? ""));

/** getcomposer.org/doc/05-repositories.md#composer */
const getRoot: NativeCall = {
  method: "GET",
  path: /^packages\.json$/,
  right: "read",
  operationId: "get-composer-root",
  async handle(native, deps) {
    const path = new URL(native.base).pathname;
    const answer = jsonAnswer(200, {
      packages: [],
      "metadata-url": `${path}/p2/%package%.json`,
      list: `${path}/list.json`,
      search: `${path}/search.json?q=%query%&type=%type%`,
    });
    return await dated(native, await stateOfRepository(native.repository, deps), answer, deps);
  },
};

/** The version as its composer.json and the repository say, by a stable order of fields. */
function shownVersion(file: ListedFile, { name: packageName }: PackageName, base: string) {
  const metadata = metadataOf(file);
  const key = composerVersion(file.version).key;
  const path = [packageName, key, file.name].join("/");
  return {
    ...(isRecord(metadata) ? metadata : {}),
    name: packageName,
    version: file.version,
    version_normalized: normalizedComposerVersion(file.version),
    dist: {
      type: "zip",
      url: `${base}/dist/${path.split("/").map(encodeURIComponent).join("/")}`,
      reference: file.sha1,
      shasum: file.sha1,
    },
    time: file.version_created_at.toISOString(),
  };
}

const getPackage: NativeCall = {
  method: "GET",
  path: new RegExp(`^p2/${name}(?<dev>~dev)?\\.json$`),
  right: "read",
  operationId: "get-composer-package",
  async handle(native, deps) {
    const { repository, base, params } = native;
    const packageName = nameIn(native);
    const state = await stateOfRepository(repository, deps);
    const keyOf = ({ version }: ListedFile) => composerVersion(version).key;
    const files = await filesNamed(repository, { type, name: packageName }, keyOf, deps);
    const versions = files
      .map((file) => shownVersion(file, packageName, base))
      .filter((one) => isComposerDev(one.version_normalized) === (params["dev"] !== undefined));
    const newestFirst = versions.reverse();
    const answer = jsonAnswer(200, { packages: { [packageName.name]: newestFirst } });
    return await dated(native, state, answer, deps);
  },
};

const download: NativeCall = {
  method: "GET",
  path: new RegExp(`^dist/${name}/(?<version>[^/]+)/(?<file>[^/]+\\.zip)$`),
  right: "read",
  operationId: "download-composer-package",
  async handle(native, deps) {
    const packageName = nameIn(native);
    const version = orNotFound(() => composerVersion(native.params["version"] ?? ""));
    const fileName = composerFileName(packageName, version);
    if (native.params["file"] !== fileName) throw packageNotFound();
    return sendNamed(native, type, { packageName, version, fileName }, deps);
  },
};

const upload: NativeCall = {
  method: "PUT",
  path: /^$/,
  right: "write",
  operationId: "upload-composer-package",
  async handle(native, deps) {
    const versionParam = native.ctx.query["version"];
    const version =
      typeof versionParam === "string" && versionParam !== "" ? versionParam : undefined;
    if (version !== undefined) composerVersion(version);
    const inspect = (file: string) => readComposerPackage(file, version);
    const { inspected } = await storeUpload(native, { type, inspect }, deps);
    const { packageName, version: stored } = inspected;
    return jsonAnswer(201, { name: packageName.name, version: stored.version });
  },
};

const remove: NativeCall = {
  method: "DELETE",
  path: new RegExp(`^${name}/(?<version>[^/]+)$`),
  right: "write",
  operationId: "delete-composer-version",
  async handle(native, deps) {
    const named = () => {
      const version = orNotFound(() => composerVersion(native.params["version"] ?? ""));
      return { packageName: nameIn(native), version };
    };
    await deleteVersion(native, type, named, deps);
    return emptyAnswer(204);
  },
};

const list: NativeCall = {
  method: "GET",
  path: /^list\.json$/,
  right: "read",
  operationId: "list-composer-packages",
  async handle({ repository }, deps) {
    const registryIds = (await localSources(repository, deps)).map(({ id }) => id);
    const all = { registryIds, text: "", limit: listMax, offset: 0 };
    return jsonAnswer(200, { packageNames: (await searchNames(deps.db, all)).names });
  },
};

const search: NativeCall = {
  method: "GET",
  path: /^search\.json$/,
  right: "read",
  operationId: "search-composer-packages",
  async handle({ ctx, repository, base }, deps) {
    const text = String(ctx.query["q"] ?? "").slice(0, 200);
    const number = (value: unknown, usual: number) =>
      Math.max(1, Number.parseInt(String(value ?? ""), 10) || usual);
    const limit = Math.min(number(ctx.query["per_page"], 15), perPageMax);
    const page = Math.min(number(ctx.query["page"], 1), 1_000_000);
    const registryIds = (await localSources(repository, deps)).map(({ id }) => id);
    const asType = String(ctx.query["type"] ?? "");
    const traits = asType === "" ? [] : [typeTrait(asType)];
    const part = { limit, offset: (page - 1) * limit };
    const search = { registryIds, words: wordsIn(text), traits, ...part };
    const { names, total } = await searchPackages(deps.db, search);
    const results = await Promise.all(
      names.map(async (one) => {
        const [vendor = "", artifact = ""] = one.split("/");
        const of = { type, name: composerName(vendor, artifact) } as const;
        const files = await filesNamed(repository, of, ({ id }) => id, deps);
        const metadata = metadataOf(files.at(-1) as ListedFile);
        const { description = "", type: kind = "library" } = isRecord(metadata) ? metadata : {};
        return { name: one, description, type: kind, url: `${base}/p2/${one}.json` };
      }),
    );
    return jsonAnswer(200, { results, total });
  },
};

export const composerType: RegistryType = {
  packageType: type,
  errorBody: (message) => ({
    type: "application/json",
    body: JSON.stringify({ status: "error", message }),
  }),
  calls: [getRoot, getPackage, download, list, search, upload, remove],
};
