import { z } from "zod";
import {
  conanInfo,
  conanManifest,
  conanName,
  conanPath,
  conanPattern,
  conanRevision,
  parseConanRevision,
  readConanManifest,
  smallText,
} from "../../../../package/conan/format.ts";
import {
  coordinatesOf,
  mismatch,
  packageIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { isToken } from "../../../../platform/key/token.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import {
  filesOfPackage,
  filesOfVersion,
  type ListedFile,
} from "../../../../projections/package/registry.ts";
import { searchNames } from "../../../../projections/package/registry-index.ts";
import { basicCredentials } from "../../../access/credentials.ts";
import { fileNotFound, orNotFound, packageNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, jsonAnswer, streamAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { filesNamed, metadataOf } from "../core/document.ts";
import { sendNamed } from "../core/send-file.ts";
import { deploymentOf, localSources, mustAllowDeletion, packageIdsIn } from "../core/source.ts";
import { change } from "../core/store.ts";
import {
  type NativeCall,
  type NativeRequest,
  plainError,
  type RegistryType,
} from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";

const type = "conan";
const searchMax = 10_000;
const recipe = "v2/conans/(?<name>[^/]+)/(?<version>[^/]+)/(?<user>[^/]+)/(?<channel>[^/]+)";
const revision = `${recipe}/revisions/(?<recipe>[^/]+)`;
const binaries = `${revision}/packages`;
const binary = `${binaries}/(?<id>[^/]+)`;
/** A revision of a recipe, or of one of its binaries. */
const either = `${revision}(?:/packages/(?<id>[^/]+)/revisions/(?<binary>[^/]+))?`;

const plain = (body: string) => streamAnswer(200, { body, type: "text/plain; charset=utf-8" });

const capabilities = { "X-Conan-Server-Capabilities": "revisions" };

const ping: NativeCall = {
  method: "GET",
  path: /^v1\/ping$/,
  right: "read",
  operationId: "ping-conan",
  handle: async () => ({ ...plain(""), headers: capabilities }),
};

/** Who signs in with a token as the password keeps that token. */
const authenticate: NativeCall = {
  method: "GET",
  path: /^v2\/users\/authenticate$/,
  right: "read",
  operationId: "authenticate-conan",
  async handle({ request }) {
    const [, password = ""] = basicCredentials(request.header("authorization")) ?? [];
    if (isToken(password)) return plain(password);
    const message = "Sign in with an access token as the password.";
    throw new Refusal("forbidden", "auth.token_required", message);
  },
};

const checkCredentials: NativeCall = {
  method: "GET",
  path: /^v2\/users\/check_credentials$/,
  right: "read",
  operationId: "check-conan-credentials",
  handle: async ({ request }) => plain(request.actor.alias ?? ""),
};

type Params = NativeRequest["params"];

const nameIn = ({ name = "", version = "", user = "", channel = "" }: Params) =>
  conanName({ name, version, user, channel });

function revisionIn({ recipe: own = "", id, binary: of = "" }: Params) {
  return conanRevision({ recipe: own, ...(id !== undefined && { binary: { id, revision: of } }) });
}

/** One file of each whole revision, its manifest, newest first: of the first member with the recipe. */
async function manifests(native: NativeRequest, deps: Deps): Promise<readonly ListedFile[]> {
  const name = orNotFound(() => nameIn(native.params));
  const all = await filesNamed(native.repository, { type, name }, ({ id }) => id, deps);
  const [first] = all;
  return all
    .filter(
      ({ package_id, name: file }) => package_id === first?.package_id && file === conanManifest,
    )
    .reverse();
}

type Revision = Readonly<{ revision: string; time: string }>;

async function revisions(native: NativeRequest, deps: Deps): Promise<readonly Revision[]> {
  const { recipe: own, id } = native.params;
  const found = (await manifests(native, deps)).flatMap((file) => {
    const of = parseConanRevision(file.version);
    const time = file.created_at.toISOString();
    if (id === undefined) return of.binary === undefined ? [{ revision: of.recipe, time }] : [];
    const isIt = of.recipe === own && of.binary?.id === id;
    return isIt && of.binary ? [{ revision: of.binary.revision, time }] : [];
  });
  if (found.length === 0) throw packageNotFound();
  return found;
}

const list = (at: string, operationId: string): NativeCall => ({
  method: "GET",
  path: new RegExp(`^${at}/(?:latest|revisions)$`),
  right: "read",
  operationId,
  async handle(native, deps) {
    const found = await revisions(native, deps);
    if (!native.ctx.path.endsWith("/latest")) return jsonAnswer(200, { revisions: found });
    return jsonAnswer(200, found[0]);
  },
});

const listFiles: NativeCall = {
  method: "GET",
  path: new RegExp(`^${either}/files$`),
  right: "read",
  operationId: "list-conan-files",
  async handle({ params, repository }, deps) {
    const of = orNotFound(() => ({ name: nameIn(params), version: revisionIn(params) }));
    for (const id of await packageIdsIn(repository, { type, name: of.name }, deps)) {
      const files = await filesOfVersion(deps.db, packageVersionIdOf(id, of.version));
      if (!files.some(({ name }) => name === conanManifest)) continue;
      const names = files.map(({ name }) => [name, {}] as const);
      return jsonAnswer(200, { files: Object.fromEntries(names) });
    }
    throw packageNotFound();
  },
};

const getFile: NativeCall = {
  method: "GET",
  path: new RegExp(`^${either}/files/(?<path>.+)$`),
  right: "read",
  operationId: "get-conan-file",
  async handle(native, deps) {
    const { params } = native;
    const of = orNotFound(() => ({
      packageName: nameIn(params),
      version: revisionIn(params),
      fileName: conanPath(params["path"] ?? ""),
    }));
    return sendNamed(native, type, of, deps);
  },
};

const putFile: NativeCall = {
  method: "PUT",
  path: new RegExp(`^${either}/files/(?<path>.+)$`),
  right: "write",
  operationId: "put-conan-file",
  async handle(native, deps) {
    const { params, request } = native;
    // An upload by checksum is always refused, so that it reveals no file of others: the client then sends the bytes.
    if (request.header("x-checksum-deploy").toLowerCase() === "true") throw fileNotFound();
    const target = await deploymentOf(native.repository, deps);
    const packageName = nameIn(params);
    const version = revisionIn(params);
    const fileName = conanPath(params["path"] ?? "");
    const id = packageVersionIdOf(packageIdOf(target.id, type, packageName), version);
    const inspect = async (file: string) => {
      if (fileName === conanManifest) await mustAgree(file, await filesOfVersion(deps.db, id));
      const of = { packageName, version, fileName, languageVersion: null };
      if (fileName !== conanInfo) return of;
      return { ...of, metadata: { content: await smallText(file, conanInfo) } };
    };
    // A revision is named after what it holds. The information of a package without settings is empty.
    const mayBeEmpty = fileName === conanInfo;
    await storeUpload(native, { type, inspect, isImmutable: true, mayBeEmpty }, deps);
    return emptyAnswer(201);
  },
};

/** The manifest comes last, and names files that came before it. @throws Refusal 422 */
async function mustAgree(file: string, stored: readonly ListedFile[]): Promise<void> {
  const sums = await readConanManifest(file);
  for (const { name, md5 } of stored) {
    const expected = sums.get(name);
    if (expected !== undefined && expected !== md5) throw mismatch(`MD5 of ${name}`, md5, expected);
  }
}

const search: NativeCall = {
  method: "GET",
  path: /^v2\/conans\/search$/,
  right: "read",
  operationId: "search-conan-recipes",
  async handle({ ctx, repository }, deps) {
    const query = String(ctx.query["q"] ?? "*").slice(0, 200);
    const registryIds = (await localSources(repository, deps)).map(({ id }) => id);
    // The longest part without a wildcard narrows it down in the database.
    const text = query.split(/[*?]/).reduce((a, b) => (b.length > a.length ? b : a), "");
    const found = { registryIds, text, limit: searchMax, offset: 0 };
    const { names } = await searchNames(deps.db, found);
    return jsonAnswer(200, { results: names.filter(conanPattern(query)) });
  },
};

const Info = z.object({ content: z.string().catch("") });

const searchBinaries: NativeCall = {
  method: "GET",
  path: new RegExp(`^${recipe}(?:/revisions/(?<recipe>[^/]+))?/search$`),
  right: "read",
  operationId: "search-conan-packages",
  async handle(native, deps) {
    const of = native.params["recipe"] ?? (await revisions(native, deps))[0]?.revision;
    const name = orNotFound(() => nameIn(native.params));
    const all = await filesNamed(native.repository, { type, name }, ({ id }) => id, deps);
    const found = new Map<string, unknown>();
    for (const file of all) {
      const { recipe: own, binary: one } = parseConanRevision(file.version);
      const isInfo = file.name === conanInfo && file.package_id === all[0]?.package_id;
      if (isInfo && own === of && one !== undefined) {
        found.set(one.id, Info.parse(metadataOf(file)));
      }
    }
    return jsonAnswer(200, Object.fromEntries(found));
  },
};

/** All revisions that the path names: of a recipe, with its binaries, or of binaries. */
const remove: NativeCall = {
  method: "DELETE",
  path: new RegExp(
    `^(?:${recipe})(?:/revisions/(?<recipe>[^/]+)(?:/(?<binaries>packages)(?:/(?<id>[^/]+)(?:/revisions/(?<binary>[^/]+))?)?)?)?$`,
  ),
  right: "write",
  operationId: "delete-conan-revisions",
  async handle({ params, repository, request }, deps) {
    const target = await deploymentOf(repository, deps);
    mustAllowDeletion(target);
    const packageName = orNotFound(() => nameIn(params));
    const files = await filesOfPackage(deps.db, packageIdOf(target.id, type, packageName));
    const { recipe: own, binaries: ofBinaries, id, binary: one } = params;
    const versions = [...new Set(files.map(({ version }) => version))].filter((version) => {
      const of = parseConanRevision(version);
      if (own !== undefined && of.recipe !== own) return false;
      if (ofBinaries !== undefined && of.binary === undefined) return false;
      if (id !== undefined && of.binary?.id !== id) return false;
      return one === undefined || of.binary?.revision === one;
    });
    if (versions.length === 0) throw packageNotFound();
    for (const version of versions) {
      const named = { packageName, version: conanRevision(parseConanRevision(version)) };
      const { packageId, packageVersionId } = coordinatesOf(target.id, type, named);
      const command = { type: "DeletePackageVersion", packageId } as const;
      await change({ id: packageVersionId, command }, request, deps);
    }
    return emptyAnswer(200);
  },
};

export const conanType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  calls: [
    ping,
    authenticate,
    checkCredentials,
    search,
    searchBinaries,
    list(recipe, "list-conan-recipe-revisions"),
    list(binary, "list-conan-package-revisions"),
    listFiles,
    getFile,
    putFile,
    remove,
  ],
};
