import semver from "semver";
import { z } from "zod";
import {
  cargoIndexPath,
  cargoName,
  cargoVersion,
  mustBeCrate,
} from "../../../../package/cargo/format.ts";
import { readCargoPublication } from "../../../../package/cargo/publish.ts";
import {
  coordinatesOf,
  type PackageName,
  packageIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { readCrate } from "../../../../package/file-reader.ts";
import { isRecord } from "../../../../platform/is-record.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import {
  filesOfVersion,
  type ListedFile,
  offeredVersions,
  packagesWithIds,
} from "../../../../projections/package/registry.ts";
import { searchPackages, wordsIn } from "../../../../projections/package/registry-index.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import { orNotFound, packageNotFound } from "../../../api/package/request.ts";
import { jsonAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { joinedParts, type PartForm, partsOf, pieceAnswer } from "../core/part.ts";
import { sendFile } from "../core/send-file.ts";
import { deploymentOf, localSources, packageIdsFor, packageIdsIn } from "../core/source.ts";
import { change, receive, record, uploadBytesMax } from "../core/store.ts";
import type { NativeCall, RegistryType } from "../core/type.ts";
import { cargoOwnerCalls } from "./owner.ts";

const type = "cargo";
const framesBytesMax = 2 * 1024 ** 2;
const searchSizeMax = 100;

const api = "api/v1/crates";
const crate = "(?<name>[A-Za-z0-9_-]+)";

const getConfig: NativeCall = {
  method: "GET",
  path: /^(?:index\/)?config\.json$/,
  right: "read",
  operationId: "get-cargo-config",
  handle: async ({ base, request }) =>
    jsonAnswer(200, {
      dl: `${base}/${api}`,
      api: base,
      ...(request.userId !== null && { "auth-required": true }),
    }),
};

const getIndex: NativeCall = {
  method: "GET",
  path: /^(?:index\/)?(?<path>(?:[12]|3\/[^/]|[^/]{2}\/[^/]{2})\/(?<name>[^/]+))$/,
  right: "read",
  operationId: "get-cargo-index",
  async handle({ params, repository }, deps) {
    const name = orNotFound(() => cargoName(params["name"] ?? ""));
    if (params["path"] !== cargoIndexPath(name.name)) throw packageNotFound();
    const ids = await packageIdsIn(repository, { type, name }, deps);
    const parts = await partsOf(ids, lines, deps);
    return pieceAnswer("text/plain; charset=utf-8", joinedParts(parts, 0));
  },
};

const lines: PartForm<undefined> = {
  key: "cargo",
  keyOf: ({ version }) => version,
  make: (files) => ({ texts: [files.map(indexLine).join("")], summary: undefined }),
};

function indexLine({ name, version, sha256, metadata, yank_reason }: ListedFile): string {
  const document: unknown = JSON.parse(metadata ?? "{}");
  const { description: _, ...fields } = isRecord(document) ? document : {};
  const crateName = name.slice(0, -`-${version}.crate`.length);
  const line = { name: crateName, vers: version, ...fields, cksum: sha256 };
  return `${JSON.stringify({ ...line, yanked: yank_reason !== null })}\n`;
}

/** What a crate may be stored as in the repositories that have it. @throws Refusal 404 */
export async function crateFileIds(
  { name, version }: Readonly<{ name: string; version: string }>,
  repository: RegistryRepositoryRow,
  deps: Deps,
): Promise<readonly string[]> {
  const of = orNotFound(() => ({ name: cargoName(name), version: cargoVersion(version) }));
  const ids = await packageIdsFor(repository, { type, name: of.name }, deps);
  const versions = ids.map((id) => filesOfVersion(deps.db, packageVersionIdOf(id, of.version)));
  // The name as the version spelled it is part of the file's.
  return (await Promise.all(versions)).flatMap((files) => files.map(({ id }) => id));
}

const download: NativeCall = {
  method: "GET",
  path: new RegExp(`^${api}/${crate}/(?<version>[^/]+)/download$`),
  right: "read",
  operationId: "download-crate",
  async handle({ params, repository, request }, deps) {
    const of = { name: params["name"] ?? "", version: params["version"] ?? "" };
    return sendFile(await crateFileIds(of, repository, deps), request, deps);
  },
};

const Document = z.object({ name: z.string(), vers: z.string() });

const publish: NativeCall = {
  method: "PUT",
  path: new RegExp(`^${api}/new$`),
  right: "write",
  operationId: "publish-crate",
  async handle({ repository, request, mustStill }, deps) {
    const target = await deploymentOf(repository, deps);
    const bytesMax = (await uploadBytesMax(target, deps)) + framesBytesMax;
    const publication = await readCargoPublication(request.incoming(bytesMax).body);
    const parsed = Document.safeParse(publication.document);
    if (!parsed.success) {
      const message = "The metadata names no crate or no version.";
      throw new Refusal("unprocessable", "package.document_malformed", message);
    }
    const inspect = async (file: string) => {
      const found = await readCrate(file);
      mustBeCrate(found, parsed.data);
      await mustBeSpelledSo(found.packageName, target, deps);
      return found;
    };
    const received = await receive(publication.crate, { target, inspect }, request, deps);
    // A lock file that names a crate gets the same content for ever.
    const recording = { target, type, isImmutable: true, isOnly: true, mustStill } as const;
    await record(received, recording, request, deps);
    return jsonAnswer(200, { warnings: { invalid_categories: [], invalid_badges: [], other: [] } });
  },
};

/** Who depends on a crate finds it under the spelling that it had first, and no other may look like it. */
async function mustBeSpelledSo(
  name: PackageName,
  target: RegistryRepositoryRow,
  { db }: Deps,
): Promise<void> {
  const id = packageIdOf(target.id, type, name);
  const known = (await packagesWithIds(db, [id])).get(id)?.name;
  if (known === undefined || known === name.name) return;
  const message = `The crate is called ${known} here, and ${name.name} is the same name.`;
  throw new Refusal("conflict", "package.name_taken", message);
}

const yankOf = (what: "yank" | "unyank"): NativeCall => ({
  method: what === "yank" ? "DELETE" : "PUT",
  path: new RegExp(`^${api}/${crate}/(?<version>[^/]+)/${what}$`),
  right: "write",
  operationId: `${what}-crate`,
  async handle({ params, repository, request }, deps) {
    const target = await deploymentOf(repository, deps);
    const named = orNotFound(() => ({
      packageName: cargoName(params["name"] ?? ""),
      version: cargoVersion(params["version"] ?? ""),
    }));
    const { packageId, packageVersionId: id } = coordinatesOf(target.id, type, named);
    const command =
      what === "yank"
        ? ({ type: "YankPackageVersion", packageId, reason: "" } as const)
        : ({ type: "UnyankPackageVersion", packageId } as const);
    await change({ id, command }, request, deps);
    return jsonAnswer(200, { ok: true });
  },
});

const search: NativeCall = {
  method: "GET",
  path: new RegExp(`^${api}$`),
  right: "read",
  operationId: "search-crates",
  async handle({ ctx, repository }, deps) {
    const text = String(ctx.query["q"] ?? "").slice(0, 64);
    const perPage = Number.parseInt(String(ctx.query["per_page"] ?? "10"), 10) || 10;
    const limit = Math.min(Math.max(perPage, 1), searchSizeMax);
    const registryIds = (await localSources(repository, deps)).map(({ id }) => id);
    const search = { registryIds, words: wordsIn(text), limit, offset: 0 };
    const { names, total } = await searchPackages(deps.db, search);
    const crates = await Promise.all(names.map((name) => foundCrate(name, repository, deps)));
    return jsonAnswer(200, { crates: crates.filter((crate) => crate), meta: { total } });
  },
};

/** Its highest version that is not yanked, of the first repository that has one. */
async function foundCrate(name: string, repository: RegistryRepositoryRow, deps: Deps) {
  for (const id of await packageIdsIn(repository, { type, name: cargoName(name) }, deps)) {
    const offered = await offeredVersions(deps.db, id);
    for (const each of [...offered].sort((a, b) => semver.compareBuild(b.version, a.version))) {
      const [file] = await filesOfVersion(deps.db, each.id);
      // One that clients cannot read is not listed.
      if (file === undefined) continue;
      const document: unknown = JSON.parse(file.metadata ?? "{}");
      const description = isRecord(document) ? (document["description"] ?? null) : null;
      return { name, max_version: file.version, description };
    }
  }
  return undefined;
}

export const cargoType: RegistryType = {
  packageType: type,
  errorBody: (message) => ({
    type: "application/json",
    body: JSON.stringify({ errors: [{ detail: message }] }),
  }),
  calls: [
    ...[getConfig, publish, yankOf("yank"), yankOf("unyank"), download, search],
    ...cargoOwnerCalls,
    getIndex,
  ],
};
