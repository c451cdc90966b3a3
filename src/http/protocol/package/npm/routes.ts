import { buffer } from "node:stream/consumers";
import semver from "semver";
import { z } from "zod";
import type { PackageId } from "../../../../events/core/ids.ts";
import {
  mismatch,
  type PackageName,
  packageIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { readNpmManifest } from "../../../../package/file-reader.ts";
import { npmVersion } from "../../../../package/npm/format.ts";
import type { Publication } from "../../../../package/npm/publication.ts";
import { readPublication } from "../../../../package/npm/publish.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { changePositions, versionsOfPackage } from "../../../../projections/package/part.ts";
import {
  filesOfVersion,
  tagsOfPackage,
  versionsWithIds,
} from "../../../../projections/package/registry.ts";
import { orNotFound, packageNotFound, versionNotFound } from "../../../api/package/request.ts";
import { jsonAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { mustMatchClaims, orRelease } from "../../../core/file/checksum.ts";
import { partsOf, pieceAnswer } from "../core/part.ts";
import { sendNamed } from "../core/send-file.ts";
import { deploymentOf, mustAllowDeletion, packageIdsIn } from "../core/source.ts";
import { change, deleteVersion, receive, record, uploadBytesMax } from "../core/store.ts";
import { removeTag, setTags } from "../core/tag.ts";
import type { NativeCall, NativeRequest, RegistryType } from "../core/type.ts";
import { npmClaims } from "./checksum.ts";
import { distTags, manifestOf, npmForm, packument } from "./document.ts";
import { at, jsonType, name, nameIn, shortType } from "./path.ts";
import { npmKeptPaths, npmProxy } from "./proxy.ts";
import { publishersOf } from "./publisher.ts";
import { searchNpm } from "./search.ts";

const type = "npm";
/** base64 makes three bytes four. */
const base64Factor = 4 / 3;
/** A client that deprecates sends the whole document of the package. */
const documentRoom = 66 * 1024 ** 2;
/** npm sends one; an image is pushed with as many. */
const publishedTagsMax = 10;

type Params = NativeRequest["params"];

/** The package as its local repositories have it; of a version, the first that has it. @throws 404 */
async function packageAt(
  { params, repository, base }: NativeRequest,
  isShort: boolean,
  deps: Deps,
) {
  const packageName = orNotFound(() => nameIn(params));
  const { name } = packageName;
  const ids = await packageIdsIn(repository, { type, name: packageName }, deps);
  // Read first: what the parts have besides makes the revision outdated.
  const revision = await revisionOf(ids, deps);
  const parts = await partsOf(ids, npmForm({ name, base }, isShort), deps);
  const publisherIds = isShort ? [] : parts.flatMap(({ summary }) => summary.publisherIds);
  const publishers = await publishersOf(publisherIds, deps);
  return { name, parts, revision, tags: await tagsOf(ids, deps), publishers };
}

/** Changes with every change of a version, in any of the repositories. */
async function revisionOf(ids: readonly PackageId[], { db }: Pick<Deps, "db">): Promise<string> {
  const positions = await changePositions(db, ids);
  return ids.map((id) => positions.get(id) ?? "").join(".");
}

/** @throws Refusal 409 when the package has changed since the caller read this revision */
async function mustBeCurrent({ params, repository }: NativeRequest, deps: Deps): Promise<void> {
  const ids = await packageIdsIn(repository, { type, name: nameIn(params) }, deps);
  if ((await revisionOf(ids, deps)) === params["revision"]) return;
  const message = "The package has changed since its document was read. Try again.";
  throw new Refusal("conflict", "package.revision_outdated", message);
}

/** Tags of versions that exist; each as the first repository has it. */
async function tagsOf(
  ids: readonly PackageId[],
  { db }: Deps,
): Promise<ReadonlyMap<string, string>> {
  const tags = new Map<string, string>();
  for (const id of ids) {
    for (const [tag, version] of await tagsOfPackage(db, id)) {
      if (!tags.has(tag)) tags.set(tag, version);
    }
  }
  const idsOf = (version: string) => ids.map((id) => packageVersionIdOf(id, npmVersion(version)));
  const tagged = [...new Set(tags.values())];
  const existing = await versionsWithIds(db, tagged.flatMap(idsOf));
  const exists = (version: string) => idsOf(version).some((id) => existing.has(id));
  const there = new Set(tagged.filter(exists));
  return new Map([...tags].filter(([, version]) => there.has(version)));
}

const getPackument: NativeCall = {
  method: "GET",
  path: at(""),
  right: "read",
  operationId: "get-npm-package",
  async handle(native, deps) {
    const isShort = native.request.header("accept").includes(shortType);
    native.ctx.vary("Accept");
    const found = await packageAt(native, isShort, deps);
    return pieceAnswer(isShort ? shortType : jsonType, packument(found, isShort));
  },
};

const getManifest: NativeCall = {
  method: "GET",
  path: at("/(?<version>[^/-][^/]*)"),
  right: "read",
  operationId: "get-npm-version",
  async handle(native, deps) {
    const { params, repository, base } = native;
    const requested = params["version"] ?? "";
    const packageName = orNotFound(() => nameIn(params));
    const ids = await packageIdsIn(repository, { type, name: packageName }, deps);
    // No tag looks like a version.
    const isVersion = semver.valid(requested) !== null;
    const tagged = isVersion ? requested : await taggedVersion(native, requested, deps);
    if (tagged === undefined) throw versionNotFound();
    const version = npmVersion(tagged);
    for (const id of ids) {
      const [file] = await filesOfVersion(deps.db, packageVersionIdOf(id, version));
      if (file !== undefined) {
        return jsonAnswer(200, manifestOf(file, { name: packageName.name, base }));
      }
    }
    throw versionNotFound();
  },
};

async function taggedVersion(native: NativeRequest, tag: string, deps: Deps) {
  const { parts, tags } = await packageAt(native, true, deps);
  const all = distTags(parts, tags);
  return Object.hasOwn(all, tag) ? all[tag] : undefined;
}

const getTarball: NativeCall = {
  method: "GET",
  path: at("/-/(?<file>[^/]+\\.tgz)"),
  right: "read",
  operationId: "download-npm-tarball",
  async handle(native, deps) {
    const { packageName, version } = orNotFound(() => tarballIn(native.params));
    const fileName = fileNameOf(packageName, version.version);
    return sendNamed(native, type, { packageName, version, fileName }, deps);
  },
};

function tarballIn(params: Params) {
  const packageName = nameIn(params);
  const file = params["file"] ?? "";
  const prefix = `${packageName.artifactId}-`;
  if (!file.startsWith(prefix)) throw packageNotFound();
  return { packageName, version: npmVersion(file.slice(prefix.length, -".tgz".length)) };
}

const fileNameOf = ({ artifactId }: PackageName, version: string): string =>
  `${artifactId}-${version}.tgz`;

const publish: NativeCall = {
  method: "PUT",
  path: at("(?:/-rev/(?<revision>[^/]+))?"),
  right: "write",
  operationId: "publish-npm-package",
  async handle(native, deps) {
    const { params, repository, request, mustStill } = native;
    const packageName = nameIn(params);
    const target = await deploymentOf(repository, deps);
    const bytesMax = Math.ceil((await uploadBytesMax(target, deps)) * base64Factor) + documentRoom;
    const packageId = packageIdOf(target.id, type, packageName);
    const wanted = async () => {
      const received = await receiving;
      if (received !== undefined) return [received.inspected.version.version];
      return (await versionsOfPackage(deps.db, packageId)).map(({ version }) => version);
    };
    const { tarball, document } = readPublication(request.incoming(bytesMax).body, wanted);
    const inspect = async (file: string) => {
      const { name: manifestName, version, manifest } = await readNpmManifest(file);
      if (manifestName !== packageName.name) throw mismatch("name", packageName.name, manifestName);
      const languageVersion = Manifest.parse(manifest).engines?.node ?? null;
      const of = { packageName, version: npmVersion(version), languageVersion };
      return { ...of, fileName: fileNameOf(packageName, version), metadata: manifest };
    };
    const receiving = receive(tarball, { target, inspect }, request, deps).catch(
      async (error: unknown) => {
        // No tarball came: the document alone changes what is said of versions.
        if (!(error instanceof Refusal) || error.code !== "package.file_empty") throw error;
        return undefined;
      },
    );
    const received = await receiving;
    if (received === undefined) {
      const { versions } = saidOf(await document, undefined);
      const isWhole = params["revision"] !== undefined;
      await applyDocument({ native, target: packageId, versions, isWhole }, deps);
      return jsonAnswer(200, { ok: true });
    }
    const { version } = received.inspected.version;
    const said: { tags: readonly string[] } = { tags: [] };
    await orRelease(received, async () => {
      const { dist, tags } = saidOf(await document, version);
      if (dist !== undefined) mustMatchClaims(npmClaims(dist), received.blob.digests);
      said.tags = tags;
    });
    await record(received, { target, type, mustStill }, request, deps);
    const { tags } = said;
    if (tags.length > 0) await setTags({ packageId, tags, version }, request, deps);
    return jsonAnswer(201, { ok: true, id: packageName.name });
  },
};

/** Versions, and the tags and checksums of the one that is published. @throws Refusal 422 */
function saidOf(document: Publication | undefined, published: string | undefined) {
  if (document === undefined || !(published === undefined || published in document.versions)) {
    throw new Refusal("unprocessable", "package.document_malformed", "It is not what npm sends.");
  }
  const { versions, dist, "dist-tags": tagged } = document;
  const tags = published === undefined ? [] : Object.keys(tagged);
  const own = tags.filter((tag) => tagged[tag] === published);
  if (own.length <= publishedTagsMax) return { versions, dist, tags: own.map(tagName) };
  const message = `A version is published with at most ${publishedTagsMax} tags.`;
  throw new Refusal("unprocessable", "package.too_many_tags", message);
}

const Manifest = z.object({
  engines: z.object({ node: z.string() }).optional().catch(undefined),
});

type Applied = Readonly<{
  native: NativeRequest;
  target: PackageId;
  versions: Publication["versions"];
  /** Whether versions that are not in it shall go. */
  isWhole: boolean;
}>;

/** Deprecations, and with a revision the versions that are left out: `npm deprecate`, `npm unpublish`. */
async function applyDocument({ native, target, versions, isWhole }: Applied, deps: Deps) {
  const { request, repository } = native;
  const present = await versionsOfPackage(deps.db, target);
  if (present.length === 0) throw packageNotFound();
  // After the versions were read: one that comes later stays.
  if (isWhole) await mustBeCurrent(native, deps);
  for (const { version, id, deprecation } of present) {
    const sent = versions[version];
    if (sent === undefined) {
      if (!isWhole) continue;
      mustAllowDeletion(await deploymentOf(repository, deps));
      const command = { type: "DeletePackageVersion", packageId: target } as const;
      await change({ id, command }, request, deps);
      continue;
    }
    const message = sent ?? deprecation;
    if (message === deprecation) continue;
    const command = { type: "DeprecatePackageVersion", packageId: target, message } as const;
    await change({ id, command }, request, deps);
  }
}

const unpublish: NativeCall = {
  method: "DELETE",
  path: at("/-rev/(?<revision>[^/]+)"),
  right: "write",
  operationId: "unpublish-npm-package",
  async handle(native, deps) {
    const { params, repository, request } = native;
    const target = await deploymentOf(repository, deps);
    mustAllowDeletion(target);
    const packageId = packageIdOf(target.id, type, nameIn(params));
    const present = await versionsOfPackage(deps.db, packageId);
    if (present.length === 0) throw packageNotFound();
    // After the versions were read: one that comes later stays.
    await mustBeCurrent(native, deps);
    for (const { id } of present) {
      await change({ id, command: { type: "DeletePackageVersion", packageId } }, request, deps);
    }
    return jsonAnswer(200, { ok: true });
  },
};

const unpublishTarball: NativeCall = {
  method: "DELETE",
  path: at("/-/(?<file>[^/]+\\.tgz)/-rev/[^/]+"),
  right: "write",
  operationId: "unpublish-npm-tarball",
  async handle(native, deps) {
    await deleteVersion(native, type, () => orNotFound(() => tarballIn(native.params)), deps);
    return jsonAnswer(200, { ok: true });
  },
};

const tagsPath = `-/package/${name}/dist-tags`;

const getTags: NativeCall = {
  method: "GET",
  path: new RegExp(`^${tagsPath}$`),
  right: "read",
  operationId: "list-npm-tags",
  async handle(native, deps) {
    const { parts, tags } = await packageAt(native, true, deps);
    return jsonAnswer(200, distTags(parts, tags));
  },
};

const putTag: NativeCall = {
  method: "PUT",
  path: new RegExp(`^${tagsPath}/(?<tag>[^/]+)$`),
  right: "write",
  operationId: "set-npm-tag",
  async handle(native, deps) {
    const { params, repository, request } = native;
    const target = await deploymentOf(repository, deps);
    const packageId = packageIdOf(target.id, type, nameIn(params));
    const text = (await buffer(request.incoming(1_024).body)).toString("utf8");
    const { version } = npmVersion(text.replaceAll('"', "").trim());
    const id = packageVersionIdOf(packageId, { version, key: version });
    if (!(await versionsWithIds(deps.db, [id])).has(id)) throw versionNotFound();
    const tags = [tagName(params["tag"] ?? "")];
    await setTags({ packageId, tags, version }, request, deps);
    return jsonAnswer(200, { ok: true });
  },
};

const deleteTag: NativeCall = {
  method: "DELETE",
  path: new RegExp(`^${tagsPath}/(?<tag>[^/]+)$`),
  right: "write",
  operationId: "remove-npm-tag",
  async handle({ params, repository, request }, deps) {
    const target = await deploymentOf(repository, deps);
    const packageId = packageIdOf(target.id, type, nameIn(params));
    await removeTag({ packageId, tag: tagName(params["tag"] ?? "") }, request, deps);
    return jsonAnswer(200, { ok: true });
  },
};

/** A tag that is a range of versions would be ambiguous. @throws Refusal 422 */
function tagName(tag: string): string {
  if (/^[A-Za-z_][A-Za-z0-9._-]{0,127}$/.test(tag) && !/^[vxX]?\d|^[xX]$/.test(tag)) return tag;
  const message = "A tag is letters, digits and ._-, and looks like no version.";
  throw new Refusal("unprocessable", "package.tag_invalid", message);
}

const small = (
  method: "GET" | "POST",
  path: RegExp,
  operationId: string,
  answer: (native: NativeRequest) => unknown,
): NativeCall => ({
  method,
  path,
  right: "read",
  operationId,
  handle: async (native) => jsonAnswer(200, answer(native)),
});

export const npmType: RegistryType = {
  packageType: type,
  proxy: npmProxy,
  keptPaths: npmKeptPaths,
  errorBody: (message) => ({
    type: "application/json",
    body: JSON.stringify({ error: message, reason: message }),
  }),
  calls: [
    small("GET", /^-\/ping$/, "ping-npm", () => ({})),
    small("GET", /^-\/whoami$/, "npm-whoami", ({ request }) => ({ username: request.actor.alias })),
    small("POST", /^-\/npm\/v1\/security\/advisories\/bulk$/, "npm-advisories", () => ({})),
    searchNpm,
    getTags,
    putTag,
    deleteTag,
    getTarball,
    unpublishTarball,
    publish,
    unpublish,
    getManifest,
    getPackument,
  ],
};
