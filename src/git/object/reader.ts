import { BoundedCache } from "../../platform/bounded-cache.ts";
import { GitFailure } from "../failure.ts";
import { isObjectId } from "../name.ts";
import type { CatFile } from "./cat-file.ts";
import type { CatFilePool } from "./cat-file-pool.ts";
import {
  type Commit,
  type ObjectInfo,
  parseCommit,
  parseTag,
  parseTree,
  type TagObject,
  type TreeEntry,
} from "./object.ts";

/** Kept in memory by object id, for all repositories of the process together. */
export type ObjectCaches = Readonly<{
  infos: BoundedCache<ObjectInfo>;
  commits: BoundedCache<Commit>;
  tags: BoundedCache<TagObject>;
  trees: BoundedCache<readonly TreeEntry[]>;
  blobs: BoundedCache<Buffer>;
}>;

const mebibyte = 1024 ** 2;

export function objectCaches(): ObjectCaches {
  return {
    infos: new BoundedCache(8 * mebibyte),
    commits: new BoundedCache(16 * mebibyte),
    tags: new BoundedCache(2 * mebibyte),
    trees: new BoundedCache(32 * mebibyte),
    blobs: new BoundedCache(64 * mebibyte),
  };
}

/** Larger ones are attacks or mistakes: git warns of trees far below this. Of what is smaller all is read. */
const bytesMax = { commit: 4 * mebibyte, tag: 4 * mebibyte, tree: 32 * mebibyte } as const;
/** Of a commit or a tag little more is kept than what may be shown of its text. */
const cachedBytesMax = { commit: mebibyte / 4, tag: mebibyte / 4, tree: bytesMax.tree } as const;
/** Rough cost of one small object in memory beyond its text. */
const overheadBytes = 200;

/** Reads the objects of one repository. Objects never change, so what was read stays true. */
export class ObjectReader {
  readonly #gitDir: string;
  readonly #pool: CatFilePool;
  readonly #caches: ObjectCaches;

  constructor(gitDir: string, pool: CatFilePool, caches: ObjectCaches) {
    this.#gitDir = gitDir;
    this.#pool = pool;
    this.#caches = caches;
  }

  async info(id: string): Promise<ObjectInfo | undefined> {
    if (!isObjectId(id)) return undefined;
    const cached = this.#caches.infos.get(this.#key(id));
    if (cached !== undefined) return cached;
    const info = await this.#use((process) => process.info(id));
    if (info !== undefined) this.#caches.infos.set(this.#key(id), info, overheadBytes);
    return info;
  }

  async commit(id: string): Promise<Commit | undefined> {
    return this.#parsed(this.#caches.commits, id, "commit", (data) => parseCommit(id, data));
  }

  async tag(id: string): Promise<TagObject | undefined> {
    return this.#parsed(this.#caches.tags, id, "tag", (data) => parseTag(id, data));
  }

  /** Entries of a tree, by the tree's own id. */
  async tree(id: string): Promise<readonly TreeEntry[] | undefined> {
    const idBytes = id.length === 64 ? 32 : 20;
    return this.#parsed(this.#caches.trees, id, "tree", (data) => parseTree(data, idBytes));
  }

  /** A tree's data as it is stored, for making another one of it. */
  async treeData(id: string): Promise<Buffer | undefined> {
    const info = await this.info(id);
    if (info?.type !== "tree" || info.bytes > bytesMax.tree) return undefined;
    return (await this.#use((process) => process.contents(id)))?.data;
  }

  /** The commit an object leads to through annotated tags; undefined for tags of trees and blobs. */
  async peel(id: string): Promise<string | undefined> {
    const peeled = await this.peelToAny(id);
    if (peeled === undefined) return undefined;
    return (await this.info(peeled))?.type === "commit" ? peeled : undefined;
  }

  /** What an object leads to through annotated tags, itself when it is none; undefined when it is not here. */
  async peelToAny(id: string): Promise<string | undefined> {
    let at = id;
    // Tags of tags exist, chains of hundreds do not.
    for (let depth = 0; depth < 16; depth += 1) {
      const info = await this.info(at);
      if (info?.type !== "tag") return info === undefined ? undefined : at;
      at = (await this.tag(at))?.targetId ?? "";
    }
    return undefined;
  }

  /**
   * What a commit has at a path; [] gives its root directory. Trees are walked one by one, so a
   * symbolic link or a submodule on the way ends the search.
   */
  async entry(commitId: string, parts: readonly string[]): Promise<TreeEntry | undefined> {
    const commit = await this.commit(commitId);
    if (commit === undefined) return undefined;
    let entry: TreeEntry = { name: "", id: commit.treeId, kind: "directory" };
    for (const part of parts) {
      // `tree` would find none either, after reading it.
      if (entry.kind !== "directory") return undefined;
      const next = (await this.tree(entry.id))?.find(({ name }) => name === part);
      if (next === undefined) return undefined;
      entry = next;
    }
    return entry;
  }

  /** Reads a blob into memory; query its size by `info` first. */
  async blob(id: string): Promise<Buffer | undefined> {
    if (!isObjectId(id)) return undefined;
    const cached = this.#caches.blobs.get(this.#key(id));
    if (cached !== undefined) return cached;
    const object = await this.#use((process) => process.contents(id));
    if (object?.type !== "blob") return undefined;
    this.#caches.blobs.set(this.#key(id), object.data, object.bytes + overheadBytes);
    return object.data;
  }

  async #parsed<Value extends NonNullable<unknown>>(
    cache: BoundedCache<Value>,
    id: string,
    type: keyof typeof bytesMax,
    parse: (data: Buffer) => Value | Promise<Value>,
  ): Promise<Value | undefined> {
    const cached = cache.get(this.#key(id));
    if (cached !== undefined) return cached;
    const info = await this.info(id);
    if (info?.type !== type || info.bytes > bytesMax[type]) return undefined;
    const object = await this.#use((process) => process.contents(id));
    if (object === undefined) return undefined;
    const value = await parse(object.data);
    cache.set(
      this.#key(id),
      value,
      Math.min(object.bytes, cachedBytesMax[type]) * 3 + overheadBytes,
    );
    return value;
  }

  /** The same id may exist in a repository its reader must not see: the key names both. */
  #key(id: string): string {
    return `${this.#gitDir} ${id}`;
  }

  /** Repeats the question once when the process was ended meanwhile, by the system or to free a slot in the pool. */
  async #use<Answer>(question: (process: CatFile) => Promise<Answer>): Promise<Answer> {
    try {
      return await this.#pool.use(this.#gitDir, question);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      return this.#pool.use(this.#gitDir, question);
    }
  }
}
