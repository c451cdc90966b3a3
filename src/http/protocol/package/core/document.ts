import { LRUCache } from "lru-cache";

import type { PackageType } from "../../../../events/package/version.ts";
import type { PackageName } from "../../../../package/core/coordinates.ts";
import { filesOfPackage, type ListedFile } from "../../../../projections/package/registry.ts";
import { registryRevisions } from "../../../../projections/package/registry-index.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import { packageNotFound } from "../../../api/package/request.ts";
import type { Deps } from "../../../core/deps.ts";
import { StillSent } from "./response-budget.ts";
import { localSources, packageIdsIn } from "./source.ts";

/** Documents of whole repositories, of all of them together. */
const cacheBytesMax = 128 * 1024 ** 2;
const cacheEntriesMax = 20_000;
/** Of an entry beside its key and its document. */
const entryBytes = 200;

/** What a repository shows, at one time. */
export type RepositoryState = Readonly<{
  /** Equal as long as nothing that its indexes show has changed. */
  key: string;
  /** Local repositories that it shows, in order. */
  sources: readonly RegistryRepositoryRow[];
  /** Of the last change; null when there was none. */
  changedAt: Date | null;
}>;

export async function stateOfRepository(
  repository: RegistryRepositoryRow,
  deps: Pick<Deps, "db">,
): Promise<RepositoryState> {
  const sources = await localSources(repository, deps);
  const ids = sources.map(({ id }) => id);
  const revisions = await registryRevisions(deps.db, ids);
  const parts = ids.map((id) => `${id}@${revisions.get(id)?.revision ?? 0n}`);
  const times = ids.flatMap((id) => revisions.get(id)?.changed_at ?? []);
  const newest = Math.max(...times.map((time) => time.getTime()));
  return {
    key: `${repository.id}:${parts.join(",")}`,
    sources,
    changedAt: times.length === 0 ? null : new Date(newest),
  };
}

type CachedDocument = Readonly<{ value: object; bytes: number }>;
const cache = new LRUCache<string, CachedDocument>({
  max: cacheEntriesMax,
  maxSize: cacheBytesMax,
  sizeCalculation: ({ bytes }, key) => bytes + 2 * key.length + entryBytes,
});
const building = new Map<string, Promise<object>>();
/** Also of those that are too large for the cache, or have left it. */
const stillSent = new StillSent<object>();

type BytesOf<Value> = (value: Value) => number;

function keep<Value extends object>(key: string, value: Value, bytesOf: BytesOf<Value>): void {
  cache.set(key, { value, bytes: bytesOf(value) });
  stillSent.set(key, value);
}

function recall<Value extends object>(key: string, bytesOf: BytesOf<Value>): Value | undefined {
  const cached = cache.get(key)?.value as Value | undefined;
  if (cached !== undefined) return cached;
  const sent = stillSent.get(key) as Value | undefined;
  if (sent !== undefined) cache.set(key, { value: sent, bytes: bytesOf(sent) });
  return sent;
}

/**
 * The document of this key, built once for all simultaneous requests and cached for later ones.
 *
 * @param bytesOf of memory that it takes
 */
export async function cachedDocument<Value extends object>(
  key: string,
  make: () => Promise<Value>,
  bytesOf: BytesOf<Value>,
): Promise<Value> {
  return recall(key, bytesOf) ?? (await built(key, key, make, bytesOf));
}

/**
 * The document of this key at this revision or a later one, made from the one that is kept when that is older.
 *
 * @param bytesOf of memory that it takes
 */
export async function currentDocument<Value extends Readonly<{ revision: bigint }>>(
  key: string,
  revision: bigint,
  make: (last: Value | undefined) => Promise<Value>,
  bytesOf: BytesOf<Value>,
): Promise<Value> {
  const last = recall(key, bytesOf);
  if (last !== undefined && last.revision >= revision) return last;
  return await built(key, `${key}@${revision}`, () => make(last), bytesOf);
}

/** Makes a document and keeps it; who wants it by the same step meanwhile gets the same. */
async function built<Value extends object>(
  key: string,
  step: string,
  make: () => Promise<Value>,
  bytesOf: BytesOf<Value>,
): Promise<Value> {
  const begun = building.get(step);
  if (begun !== undefined) return (await begun) as Value;
  const made = make();
  building.set(step, made);
  try {
    const value = await made;
    keep(key, value, bytesOf);
    return value;
  } finally {
    building.delete(step);
  }
}

/** What was kept under this key lately. */
export function documentInCache<Value extends object>(key: string): Value | undefined {
  return cache.get(key)?.value as Value | undefined;
}

type Named = Readonly<{ type: PackageType; name: PackageName }>;

/**
 * The files of a package in all local repositories that have it; of those that are the same by `keyOf`, the
 * first.
 *
 * @throws Refusal 404 when there are none
 */
export async function filesNamed(
  repository: RegistryRepositoryRow,
  named: Named,
  keyOf: (file: ListedFile) => string,
  deps: Deps,
): Promise<readonly ListedFile[]> {
  const ids = await packageIdsIn(repository, named, deps);
  const all = await Promise.all(ids.map((id) => filesOfPackage(deps.db, id)));
  const found = new Map<string, ListedFile>();
  for (const file of all.flat()) {
    const key = keyOf(file);
    if (!found.has(key)) found.set(key, file);
  }
  if (found.size === 0) throw packageNotFound();
  return [...found.values()];
}

/** The metadata of the file from its upload. */
export const metadataOf = ({ metadata }: Pick<ListedFile, "metadata">): unknown =>
  JSON.parse(metadata ?? "{}");
