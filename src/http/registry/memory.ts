import type { Knex } from "knex";

import type { RegistryOwner } from "../../events/registry/repository.ts";
import { findSentFile, type SentFile } from "../../projections/package/registry.ts";
import {
  findRegistryRepositoryNamed,
  type RegistryRepositoryRow,
} from "../../projections/registry/repository.ts";
import { type CachedQuery, cachedQuery } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";

type MemoryDeps = Pick<Deps, "db" | "onChange" | "onPosition" | "past">;

type Memory = Readonly<{
  repositories: CachedQuery<RegistryRepositoryRow>;
  files: CachedQuery<SentFile>;
}>;

/** One of each database: a process has one, a process of tests several. */
const memories = new WeakMap<Knex, Memory>();

/**
 * What every request of a package manager looks up, for as long as it is certain: a repository until anybody's
 * rights change, which is announced, a file until the read models have passed a further event.
 */
function memoryOf({ db, onChange, onPosition }: MemoryDeps): Memory {
  const known = memories.get(db);
  if (known !== undefined) return known;
  const repositories = cachedQuery((key) => {
    const [owner, name] = JSON.parse(key) as readonly [RegistryOwner, string];
    return findRegistryRepositoryNamed(db, owner, name);
  });
  const files = cachedQuery((ids) => findSentFile(db, ids.split(" ")));
  onChange((subject) => {
    if (subject === "settings" || subject === "jobs") return;
    repositories.forget();
    files.forget();
  });
  onPosition(() => files.forget());
  const made = { repositories, files };
  memories.set(db, made);
  return made;
}

/** By its name, without regard to case. */
export function repositoryNamed(
  { ownerType, ownerId }: RegistryOwner,
  name: string,
  deps: MemoryDeps,
): Promise<RegistryRepositoryRow | undefined> {
  const key = JSON.stringify([{ ownerType, ownerId }, name.toLowerCase()]);
  return memoryOf(deps).repositories.get(key);
}

/** More would make large keys. */
const keyIdsMax = 20;

/** The first of these files that there is. */
export async function fileToSend(
  fileIds: readonly string[],
  deps: MemoryDeps,
): Promise<SentFile | undefined> {
  if (fileIds.length === 0) return undefined;
  const isKept = deps.past !== true && fileIds.length <= keyIdsMax;
  if (!isKept) return await findSentFile(deps.db, fileIds);
  return await memoryOf(deps).files.get(fileIds.join(" "));
}

/** What is kept of files may name contents that are gone. */
export const forgetFiles = (deps: MemoryDeps): void => memoryOf(deps).files.forget();
