import type { PackageId } from "../../../../events/core/ids.ts";
import { packageVersionIdOf } from "../../../../package/core/coordinates.ts";
import { npmName, npmVersion } from "../../../../package/npm/format.ts";
import { isRecord } from "../../../../platform/is-record.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import {
  filesOfVersion,
  type ListedFile,
  tagsOfPackage,
} from "../../../../projections/package/registry.ts";
import { searchPackages, wordsIn } from "../../../../projections/package/registry-index.ts";
import type { PackageRow } from "../../../../projections/package/table.ts";
import { type Answer, jsonAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { partsOf } from "../core/part.ts";
import { localSources, packageIdsIn } from "../core/source.ts";
import type { NativeCall } from "../core/type.ts";
import { distTags, npmForm } from "./document.ts";
import { type Publisher, publishersOf } from "./publisher.ts";

const type = "npm";
const searchSizeMax = 100;

type Found = Readonly<{ version: string; file: ListedFile }>;

/** Undefined when it has no version. */
async function foundPackage(
  { id, name }: Pick<PackageRow, "id" | "name">,
  base: string,
  deps: Deps,
) {
  const tagged = (await tagsOfPackage(deps.db, id)).get("latest");
  // Most have the tag; without it, or its version, all versions have to be known.
  const found = (await fileOf(id, tagged, deps)) ?? (await newestOf(id, name, base, deps));
  if (found === undefined) return undefined;
  const publisher = await publishersOf([found.file.version_created_by_id], deps);
  return { name, version: found.version, ...described(found.file, publisher) };
}

const nameOf = (name: string) => {
  const [, scope, own = ""] = /^(?:@([^/]+)\/)?(.+)$/.exec(name) ?? [];
  return npmName(scope, own);
};

async function newestOf(
  id: PackageId,
  name: string,
  base: string,
  deps: Deps,
): Promise<Found | undefined> {
  const parts = await partsOf([id], npmForm({ name, base }, true), deps).catch(notFound);
  return await fileOf(id, parts && distTags(parts, new Map())["latest"], deps);
}

async function fileOf(
  id: PackageId,
  version: string | undefined,
  { db }: Deps,
): Promise<Found | undefined> {
  if (version === undefined) return undefined;
  const [file] = await filesOfVersion(db, packageVersionIdOf(id, npmVersion(version)));
  return file && { version, file };
}

/** What npm shows of a package that it finds; it fails without a list of maintainers. */
function described({ metadata, version_created_at }: ListedFile, publishers: readonly Publisher[]) {
  const manifest: unknown = JSON.parse(metadata ?? "{}");
  const { description, keywords, maintainers } = isRecord(manifest) ? manifest : {};
  const people = Array.isArray(maintainers) ? maintainers.filter(isRecord) : [];
  const named = people.flatMap(({ name, email }) =>
    typeof name === "string"
      ? [{ username: name, ...(typeof email === "string" && { email }) }]
      : [],
  );
  const [publisher] = publishers.map(({ name: username, email }) => ({ username, email }));
  return {
    date: version_created_at.toISOString(),
    ...(typeof description === "string" && { description }),
    keywords: Array.isArray(keywords) ? keywords.filter((word) => typeof word === "string") : [],
    maintainers: named.length === 0 && publisher !== undefined ? [publisher] : named,
    ...(publisher && { publisher }),
  };
}

function notFound(error: unknown): undefined {
  if (!(error instanceof Refusal) || error.kind !== "not_found") throw error;
}

export const searchNpm: NativeCall = {
  method: "GET",
  path: /^-\/v1\/search$/,
  right: "read",
  operationId: "search-npm-packages",
  async handle({ ctx, repository, base }, deps): Promise<Answer> {
    const text = String(ctx.query["text"] ?? "").slice(0, 214);
    const number = (value: unknown, most: number) =>
      Math.min(most, Math.max(0, Number.parseInt(String(value ?? ""), 10) || 0));
    const limit = number(ctx.query["size"] ?? 20, searchSizeMax);
    const offset = number(ctx.query["from"], 1_000_000);
    const registryIds = (await localSources(repository, deps)).map(({ id }) => id);
    const search = { registryIds, words: wordsIn(text), limit, offset };
    const { names, total } = await searchPackages(deps.db, search);
    const objects: object[] = [];
    // One after the other: each may mean to make a large index.
    for (const name of names) {
      for (const id of await packageIdsIn(repository, { type, name: nameOf(name) }, deps)) {
        const found = await foundPackage({ id, name }, base, deps);
        if (found === undefined) continue;
        objects.push({ package: found });
        break;
      }
    }
    return jsonAnswer(200, { objects, total, time: deps.now().toUTCString() });
  },
};
