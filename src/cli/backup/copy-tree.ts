import { constants } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";

/** Git moves what it packs anew into place before it removes the old files: a few looks see all of it. */
const looksMax = 20;

/** Left half-way by somebody, or at work just now: none of it is part of a repository. */
const isTemporary = (name: string): boolean =>
  name.endsWith(".lock") || name.startsWith("tmp_") || name.startsWith("incoming-");

/** Files below a directory by their path in it; those that vanish meanwhile are left out. */
export async function* filesBelow(root: string, under = ""): AsyncGenerator<string> {
  const entries = await orGone(readdir(path.join(root, under), { withFileTypes: true }));
  for (const entry of entries ?? []) {
    const name = path.join(under, entry.name);
    if (isTemporary(entry.name)) continue;
    if (entry.isDirectory()) yield* filesBelow(root, name);
    else if (entry.isFile()) yield name;
  }
}

/**
 * Copies a repository while it is used. Refs come first, loose ones before packed ones, because packing moves
 * them that way; then the objects, looked for until nothing new is found, so that everything
 * that a copied ref leads to is there. Objects never change under their names: those that are there already stay.
 *
 * @throws Error when it is repacked again and again meanwhile
 */
export async function copyRepository(from: string, to: string): Promise<void> {
  const isObject = (name: string): boolean => name.startsWith(`objects${path.sep}`);
  await mkdir(path.join(to, "objects"), { recursive: true });
  await rm(path.join(to, "refs"), { recursive: true, force: true });
  await rm(path.join(to, "packed-refs"), { force: true });
  await mkdir(path.join(to, "refs"), { recursive: true });
  const others: string[] = [];
  for await (const name of filesBelow(from)) {
    if (isObject(name)) continue;
    if (name.startsWith(`refs${path.sep}`))
      await copyWhole(path.join(from, name), path.join(to, name));
    else others.push(name);
  }
  for (const name of others) await copyWhole(path.join(from, name), path.join(to, name));
  for (let look = 1; look <= looksMax; look += 1) {
    let news = 0;
    for await (const name of filesBelow(from, "objects")) {
      const target = path.join(to, name);
      if ((await orGone(stat(target))) !== undefined) continue;
      news += 1;
      await copyWhole(path.join(from, name), target);
    }
    if (news === 0) return;
  }
  throw new Error(`${from} is repacked again and again; try later`);
}

/**
 * Copies a file under another name and moves it into place, so that it is there whole or not at all.
 *
 * @returns false when the file has gone meanwhile
 */
export async function copyWhole(from: string, to: string): Promise<boolean> {
  const draft = `${to}.tmp_part`;
  await mkdir(path.dirname(to), { recursive: true });
  const copied = await orGone(copyFile(from, draft, constants.COPYFILE_FICLONE).then(() => true));
  if (copied !== true) return false;
  await rename(draft, to);
  return true;
}

/** Undefined for what is not there, or not any more. */
export async function orGone<Result>(task: Promise<Result>): Promise<Result | undefined> {
  try {
    return await task;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (["ENOENT", "ENOTDIR"].includes(code)) return undefined;
    throw error;
  }
}
