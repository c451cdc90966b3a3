import { LRUCache } from "lru-cache";
import { z } from "zod";
import { isWritablePath } from "../../../git/name.ts";
import type { TreeEntry } from "../../../git/object/object.ts";
import { type NewObject, newObject } from "../../../git/object/pack-writer.ts";
import type { Repository } from "../../../git/repository.ts";
import type { FileChange, FileMode } from "../../../git/tree-edit.ts";
import { breather } from "../../../platform/breather.ts";
import type { FieldError } from "../../../platform/refusal.ts";
import { invalid, pathLengthMax } from "../../core/schema.ts";

/** As JSON, of all actions together; what is larger is for a push. */
export const contentLengthMax = 32 * 1024 ** 2;

/** Every directory on the way is read and written anew. */
const pathDepthMax = 100;

const FilePath = z
  .string()
  .max(pathLengthMax, { abort: true })
  .refine(
    (path) => path.split("/").length <= pathDepthMax && isWritablePath(path),
    `Not the path of a file in a repository, or deeper than ${pathDepthMax} directories.`,
  )
  .meta({ description: "From the root, without a slash in front.", examples: ["docs/guide.md"] });

export const CommitAction = z
  .object({
    action: z.enum(["CREATE", "UPDATE", "DELETE", "MOVE"]),
    path: FilePath,
    previousPath: FilePath.nullish().meta({ description: "Of MOVE alone: where it is." }),
    content: z
      .string()
      .max(contentLengthMax)
      .nullish()
      .meta({
        description: "Of CREATE and UPDATE; of MOVE when it changes too.",
        examples: ["Text\n"],
      }),
    encoding: z
      .enum(["text", "base64"])
      .nullish()
      .meta({ examples: ["text"] }),
  })
  .superRefine(({ action, previousPath, content, encoding }, ctx) => {
    const missing = (field: string) =>
      ctx.addIssue({
        code: "custom",
        path: [field],
        message: `${action} needs it.`,
        params: { code: "error.field.required" },
      });
    if (action === "MOVE" && !previousPath) missing("previousPath");
    if ((action === "CREATE" || action === "UPDATE") && typeof content !== "string") {
      missing("content");
    }
    if (encoding === "base64" && !isBase64(content ?? "")) {
      ctx.addIssue({ code: "custom", path: ["content"], message: "Not base64." });
    }
  })
  .meta({ id: "CommitAction" });

export type CommitAction = z.output<typeof CommitAction>;

/** Node leaves out what it does not know; a file must be what was sent or nothing. */
const isBase64 = (text: string): boolean =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

/** What actions come to on the files of one commit. */
export type FileChanges = Readonly<{
  /** By path. */
  changes: ReadonlyMap<string, FileChange>;
  blobs: readonly NewObject[];
}>;

type File = Readonly<{ mode: FileMode; id: string }>;

/** A file, or nothing, or something that stands where files could be below it. */
type Found = File | "directory" | null;

/**
 * Carries actions out one after another, on paper: each sees what those before it did. Symbolic
 * links and submodules can be moved and deleted, nothing can be put below them.
 *
 * @param commitId null: there are no files yet
 * @throws Refusal 422 naming every action that cannot be done, and why
 */
export async function carryOut(
  repository: Repository,
  commitId: string | null,
  actions: readonly CommitAction[],
): Promise<FileChanges> {
  const files = new Files(repository, commitId);
  const blobs = new Map<string, NewObject>();
  const errors: FieldError[] = [];
  const breathe = breather();
  for (const [index, action] of actions.entries()) {
    await breathe();
    const blob = blobOf(action);
    const wrong = await perform(files, action, blob?.id);
    if (wrong === undefined && blob !== undefined) blobs.set(blob.id, blob);
    if (wrong !== undefined) {
      const { field = "path", code, message } = wrong;
      errors.push({ field: `actions.${index}.${field}`, code, message });
    }
  }
  if (errors.length > 0) throw invalid(errors);
  return { changes: files.changes, blobs: [...blobs.values()] };
}

function blobOf({ action, content, encoding }: CommitAction): NewObject | undefined {
  if (action === "DELETE" || typeof content !== "string") return undefined;
  return newObject("blob", Buffer.from(content, encoding === "base64" ? "base64" : "utf8"));
}

type Wrong = Readonly<{ field?: string; code: string; message: string }>;

const notFound = { code: "commit.file_not_found", message: "There is no such file." } as const;
const notText = {
  code: "commit.not_a_file",
  message: "A symbolic link or submodule has no content to change.",
} as const;

async function perform(
  files: Files,
  { action, path, previousPath }: CommitAction,
  blobId: string | undefined,
): Promise<Wrong | undefined> {
  const from = action === "MOVE" ? (previousPath ?? "") : path;
  const old = action === "CREATE" ? null : await files.at(from);
  if (action !== "CREATE" && (old === null || old === "directory")) {
    return action === "MOVE" ? { ...notFound, field: "previousPath" } : notFound;
  }
  const file = old === "directory" ? null : old;
  const changes = blobId !== undefined && file !== null;
  if (changes && file.mode !== "100644" && file.mode !== "100755") return notText;

  if (action !== "CREATE") files.set(from, null);
  if (action === "DELETE") return undefined;
  const wrong = action === "UPDATE" ? undefined : await files.inTheWay(path);
  if (wrong !== undefined) {
    if (file !== null) files.set(from, file);
    return wrong;
  }
  files.set(path, { mode: file?.mode ?? "100644", id: blobId ?? file?.id ?? "" });
  return undefined;
}

/** Entries by name, because a directory may have many and each action looks up one. */
type Directory = ReadonlyMap<string, TreeEntry>;
/** Those of one path and its neighbours. */
const directoriesKept = 200;

/** The files of a commit with changes on top. */
class Files {
  readonly changes = new Map<string, FileChange>();
  readonly #repository: Repository;
  readonly #commitId: string | null;
  readonly #directories = new LRUCache<string, Promise<Directory | undefined>>({
    max: directoriesKept,
  });
  /** How many changes that make a file are below each directory. */
  readonly #filesBelow = new Map<string, number>();

  constructor(repository: Repository, commitId: string | null) {
    this.#repository = repository;
    this.#commitId = commitId;
  }

  set(path: string, file: File | null): void {
    const change = Number(file !== null) - Number(Boolean(this.changes.get(path)));
    this.changes.set(path, file);
    if (change === 0) return;
    for (const above of directoriesAbove(path)) {
      this.#filesBelow.set(above, (this.#filesBelow.get(above) ?? 0) + change);
    }
  }

  async at(path: string): Promise<Found> {
    const changed = this.changes.get(path);
    if (changed !== undefined) return changed;
    const entry = await this.#entry(path);
    if (entry === undefined) return null;
    return entry.kind === "directory" ? "directory" : { mode: modeOf(entry), id: entry.id };
  }

  /** Why no file can be made there; undefined when one can. */
  async inTheWay(path: string): Promise<Wrong | undefined> {
    const entries = await this.#entriesOn(path);
    const places = [...directoriesAbove(path), path];
    for (const [index, place] of places.entries()) {
      const changed = this.changes.get(place);
      const entry = entries[index];
      const isFile =
        changed === undefined
          ? entry !== undefined && entry.kind !== "directory"
          : changed !== null;
      if (!isFile) continue;
      if (place === path) {
        return { code: "commit.file_exists", message: "There is such a file already." };
      }
      return { code: "commit.name_conflict", message: `${place} is no directory.` };
    }
    if (await this.#holdsFiles(path)) {
      return { code: "commit.name_conflict", message: `${path} is a directory.` };
    }
    return undefined;
  }

  async #entry(path: string): Promise<TreeEntry | undefined> {
    return (await this.#entriesOn(path))[path.split("/").length - 1];
  }

  /** What the commit has at each place of a path, from the root on, in one walk. */
  async #entriesOn(path: string): Promise<readonly TreeEntry[]> {
    const { objects } = this.#repository;
    const entries: TreeEntry[] = [];
    if (this.#commitId === null) return entries;
    let treeId = (await objects.commit(this.#commitId))?.treeId;
    for (const part of path.split("/")) {
      const entry = treeId === undefined ? undefined : (await this.#directory(treeId))?.get(part);
      if (entry === undefined) break;
      entries.push(entry);
      treeId = entry.kind === "directory" ? entry.id : undefined;
    }
    return entries;
  }

  #directory(treeId: string): Promise<Directory | undefined> {
    const known = this.#directories.get(treeId);
    if (known !== undefined) return known;
    const entries = this.#repository.objects.tree(treeId);
    const directory = entries.then((all) => all && new Map(all.map((each) => [each.name, each])));
    this.#directories.set(treeId, directory);
    return directory;
  }

  /** Whether anything is left of a directory after the changes. */
  async #holdsFiles(path: string): Promise<boolean> {
    if ((this.#filesBelow.get(path) ?? 0) > 0) return true;
    const entry = await this.#entry(path);
    if (entry?.kind !== "directory") return false;
    const below = [...this.changes].filter(([name]) => name.startsWith(`${path}/`));
    return this.#holdsMore(entry.id, path, new Set(below.map(([name]) => name)));
  }

  /** A directory of nothing counts as something: ten of them in each of ten others would never end. */
  async #holdsMore(treeId: string, path: string, deleted: ReadonlySet<string>): Promise<boolean> {
    const entries = await this.#repository.objects.tree(treeId);
    if (entries === undefined || entries.length === 0) return true;
    for (const entry of entries) {
      const name = `${path}/${entry.name}`;
      const held =
        entry.kind === "directory"
          ? await this.#holdsMore(entry.id, name, deleted)
          : !deleted.has(name);
      if (held) return true;
    }
    return false;
  }
}

/** `a`, `a/b` of `a/b/c`. */
function directoriesAbove(path: string): readonly string[] {
  const above: string[] = [];
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    above.push(path.slice(0, at));
  }
  return above;
}

const modes = {
  file: "100644",
  executable: "100755",
  symlink: "120000",
  submodule: "160000",
} as const;

function modeOf({ kind }: TreeEntry): FileMode {
  return kind === "directory" ? "100644" : modes[kind];
}
