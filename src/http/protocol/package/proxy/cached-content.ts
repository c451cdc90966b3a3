import type { Knex } from "knex";

import type { HeldBlob } from "../../../../platform/blob/blobs.ts";
import { noLimit, type Room } from "../../../../platform/blob/room.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { findProjectById } from "../../../../projections/project/project.ts";
import { holdInProject } from "../../../../projections/project/repository-size.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import type { Deps } from "../../../core/deps.ts";

/** Content that a proxy has fetched and caches. */
export type CachedContent = Readonly<{
  sha256: string;
  bytes: bigint;
  content_type: string;
  /** As the external registry gave it; empty when it gave none. */
  etag: string;
  checked_at: Date;
  used_at: Date;
}>;

export type CacheKey = Readonly<{ repositoryId: string; path: string }>;

const table = "public.proxy_content";
/** What is used all the time is written down now and then. */
const notedEveryMs = 60 * 60_000;

const where = ({ repositoryId, path }: CacheKey) => ({ repository_id: repositoryId, path });

/** The cached content of a path. */
export async function findCached(db: Knex, at: CacheKey): Promise<CachedContent | undefined> {
  return await findFirstCached(db, at.repositoryId, [at.path]).then((found) => found?.cached);
}

type First = Readonly<{ path: string; cached: CachedContent }>;

/** The first of these that is cached. */
export async function findFirstCached(
  db: Knex,
  repositoryId: string,
  paths: readonly string[],
): Promise<First | undefined> {
  const rows: readonly (CachedContent & Readonly<{ path: string }>)[] = await db(table)
    .where("repository_id", repositoryId)
    .whereIn("path", [...paths]);
  for (const path of paths) {
    const cached = rows.find((row) => row.path === path);
    if (cached === undefined) continue;
    return { path, cached };
  }
  return undefined;
}

/**
 * Whether a proxy owns its name, so that no later one is queried: it has served a file of that name, or is offline
 * and cannot know whether there is one. A stranger may have published under the name elsewhere.
 *
 * @param paths what is kept of the name; a star matches one part of a path
 */
export async function ownsName(
  { id, settings }: RegistryRepositoryRow,
  paths: readonly string[],
  db: Knex,
): Promise<boolean> {
  if (settings.type === "PROXY" && settings.isOffline) return true;
  const exact = paths.filter((path) => !path.includes("*"));
  const forms = paths.filter((path) => path.includes("*")).map(formOf);
  const found = await db<CacheKey>(table)
    .where("repository_id", id)
    .where((some) => {
      void some.whereIn("path", exact);
      for (const form of forms) void some.orWhere("path", "~", form);
    })
    .first(db.raw("1"));
  return found !== undefined;
}

const formOf = (path: string): string =>
  `^${path.replaceAll(/[!-)+-.:-@[-`{-~]/g, "\\$&").replaceAll("*", "[^/]+")}$`;

/** Room for what is to be kept, which counts for the quota of the proxy's project; undefined when there is none. */
export async function roomToKeep(
  { owner_type, owner_id }: Pick<RegistryRepositoryRow, "owner_type" | "owner_id">,
  bytes: number,
  deps: Pick<Deps, "db" | "git" | "config">,
): Promise<Room | undefined> {
  if (owner_type !== "PROJECT") return noLimit;
  const project = await findProjectById(deps.db, owner_id);
  if (project === undefined) return undefined;
  return await holdInProject(deps)(project, bytes).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === "project.full") return undefined;
    throw error;
  });
}

/** Keeps the content in the place of what is there, and gives its hold back. */
export async function keep(
  db: Knex,
  at: CacheKey,
  { blob, type, etag }: Readonly<{ blob: Omit<HeldBlob, "digests">; type: string; etag: string }>,
): Promise<void> {
  const now = db.fn.now();
  const content = { sha256: blob.digest, bytes: blob.bytes, content_type: type, etag };
  try {
    await db(table)
      .insert({ ...where(at), ...content, checked_at: now, used_at: now })
      .onConflict(["repository_id", "path"])
      .merge();
  } finally {
    await blob.release();
  }
}

export async function noteCheck(db: Knex, at: CacheKey): Promise<void> {
  await db(table).where(where(at)).update({ checked_at: db.fn.now(), used_at: db.fn.now() });
}

export async function noteUse(
  db: Knex,
  at: CacheKey,
  { used_at }: CachedContent,
  now: Date,
): Promise<void> {
  if (now.getTime() - used_at.getTime() < notedEveryMs) return;
  await db(table).where(where(at)).update({ used_at: db.fn.now() });
}
