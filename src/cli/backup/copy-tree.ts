import { constants } from "node:fs";
import { copyFile, lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";

import { ifThere } from "../../platform/if-there.ts";

/** Git moves what it packs anew into place before it removes the old files: a few looks see all of it. */
const looksMax = 20;

/** What is copied grows under this ending, or below this name: git has no ref and no object that ends so. */
const draftEnding = ".tmp_part.lock";
/** Where refs wait in a copy until all that they lead to is there. */
const staged = "copy.lock";

/**
 * A draft of a program that runs or was killed, which is no part of the repository. Git names its drafts so among
 * objects; elsewhere branches may have these names.
 */
const isTemporary = (file: string): boolean => {
  const name = path.basename(file);
  if (name.endsWith(".lock")) return true;
  return isObject(file) && (name.startsWith("tmp_") || name.startsWith("incoming-"));
};

const isObject = (file: string): boolean => file.startsWith(`objects${path.sep}`);
const isLooseRef = (file: string): boolean => file.startsWith(`refs${path.sep}`);

/** Files below a directory by their path in it; those that vanish meanwhile are left out. */
export async function* filesBelow(root: string, under = ""): AsyncGenerator<string> {
  const entries = await ifThere(readdir(path.join(root, under), { withFileTypes: true }));
  for (const entry of entries ?? []) {
    const name = path.join(under, entry.name);
    if (isTemporary(name)) continue;
    if (entry.isDirectory()) yield* filesBelow(root, name);
    else if (entry.isFile()) yield name;
  }
}

/**
 * Copies a repository while it is used. Refs are read first, loose ones before packed ones, because packing moves
 * them that way; then the objects are copied, looked for until nothing new is found, so that everything
 * that a copied ref leads to is there. Objects never change under their names: those that are there already stay.
 * Refs take their places last: a copy that was there before is usable at every moment, with old refs or new ones.
 *
 * @throws Error when it is repacked again and again meanwhile
 */
export async function copyRepository(from: string, to: string): Promise<void> {
  const stage = path.join(to, staged);
  await rm(stage, { recursive: true, force: true });
  await mkdir(path.join(stage, "refs"), { recursive: true });
  const others: string[] = [];
  const keep = (name: string) =>
    copyWhole(path.join(from, name), path.join(stage, name), draftIn(to));
  for await (const name of filesBelow(from)) {
    if (isObject(name)) continue;
    if (isLooseRef(name)) await keep(name);
    else others.push(name);
  }
  for (const name of others) await keep(name);
  await copyObjects(from, to);
  await placeRefs(stage, to);
  await rm(stage, { recursive: true });
}

/** One at a time; the name of a ref may be too long for an ending. */
const draftIn = (to: string): string => path.join(to, staged, "draft.lock");

async function copyObjects(from: string, to: string): Promise<void> {
  await mkdir(path.join(to, "objects"), { recursive: true });
  for (let look = 1; look <= looksMax; look += 1) {
    let news = 0;
    for await (const name of filesBelow(from, "objects")) {
      const target = path.join(to, name);
      if ((await ifThere(stat(target))) !== undefined) continue;
      news += 1;
      await copyWhole(path.join(from, name), target);
    }
    if (news === 0) return;
  }
  throw new Error(`${from} is repacked again and again; try later`);
}

/** Loose refs first, then what is packed, and then those go that are not loose any more: each is always there. */
async function placeRefs(stage: string, to: string): Promise<void> {
  const others: string[] = [];
  const place = (name: string) =>
    copyWhole(path.join(stage, name), path.join(to, name), draftIn(to));
  await mkdir(path.join(to, "refs"), { recursive: true });
  for await (const name of filesBelow(stage)) {
    if (!isLooseRef(name)) {
      others.push(name);
      continue;
    }
    await clearWay(to, name);
    await place(name);
  }
  for (const name of others) await place(name);
  if (!others.includes("packed-refs")) await rm(path.join(to, "packed-refs"), { force: true });
  for await (const name of filesBelow(to, "refs")) {
    if ((await ifThere(stat(path.join(stage, name)))) === undefined) await rm(path.join(to, name));
  }
}

/** A ref that has gone may be a directory of this one's name now, or the other way round. */
async function clearWay(to: string, ref: string): Promise<void> {
  const parts = ref.split(path.sep);
  for (let depth = 2; depth < parts.length; depth += 1) {
    const above = path.join(to, ...parts.slice(0, depth));
    if ((await ifThere(lstat(above)))?.isDirectory() === false) await rm(above);
  }
  const target = path.join(to, ref);
  if ((await ifThere(lstat(target)))?.isDirectory() === true) await rm(target, { recursive: true });
}

/**
 * Copies a file under another name and moves it into place, so that it is there whole or not at all.
 *
 * @param draft the other name, on the same file system
 * @returns false when the file has gone meanwhile
 */
export async function copyWhole(
  from: string,
  to: string,
  draft = `${to}${draftEnding}`,
): Promise<boolean> {
  await mkdir(path.dirname(to), { recursive: true });
  const copied = await ifThere(copyFile(from, draft, constants.COPYFILE_FICLONE).then(() => true));
  if (copied !== true) return false;
  await rename(draft, to);
  return true;
}
