import { lstat, readdir, rm } from "node:fs/promises";
import path from "node:path";

import { breather } from "../platform/breather.ts";
import { ifThere } from "../platform/if-there.ts";
import { removeOfDead } from "./push/hold.ts";

/** A push or fetch may take hours; what is older was left by a process that died. */
const leftOverAfterMs = 6 * 60 * 60_000;

/** Bytes of all files below a directory. Files that come and go meanwhile count or do not. */
export async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(directory)) {
    const file = path.join(directory, entry.name);
    if (entry.isDirectory()) bytes += await bytesBelow(file);
    else bytes += (await ifThere(lstat(file)))?.size ?? 0;
  }
  return bytes;
}

/** What pushes bring is in such a directory until refs are changed; see tmp-objdir.h of git. */
const quarantine = /^tmp_objdir-incoming-\w+$/;

/**
 * Removes what git keeps objects in while they come (tmp_…), when nobody is at it any more: of pushes at
 * once, since it is known that none lives, of everything else when it is old.
 */
export async function removeLeftOverObjects(gitDir: string): Promise<void> {
  const objects = path.join(gitDir, "objects");
  const names = (await entriesOf(objects)).map(({ name }) => name);
  const came = names.filter((name) => quarantine.test(name));
  await removeOfDead(
    gitDir,
    "pushing",
    came.map((name) => path.join(objects, name)),
  );
  const before = Date.now() - leftOverAfterMs;
  for (const directory of ["objects", "objects/pack"].map((name) => path.join(gitDir, name))) {
    for (const { name } of await entriesOf(directory)) {
      const file = path.join(directory, name);
      if (!name.startsWith("tmp_")) continue;
      const found = await ifThere(lstat(file));
      if (found !== undefined && found.mtimeMs < before) await rm(file, { recursive: true });
    }
  }
}

/** Refs are changed in moments, also many thousands of them. */
const refLockLeftAfterMs = 60 * 60_000;
const locksBesideRefs = ["HEAD.lock", "config.lock", "packed-refs.lock"];
/** Locks and temporary files of `git repack` and `git commit-graph`, by directory; see builtin/repack.c of git. */
const upkeepFiles = [
  ["objects", /^bitmap-ref-tips_\w+$/],
  ["objects/pack", /^(multi-pack-index\.lock|\.tmp-\d+-pack-.+)$/],
  ["objects/info/commit-graphs", /^(commit-graph-chain\.lock|tmp_graph_\w+)$/],
] as const;

/**
 * Removes locks whose owner died, by a kill or a power cut, between taking and giving
 * back. Until then git refuses every change of what they represent.
 */
export async function removeLeftOverLocks(gitDir: string): Promise<void> {
  const at = (name: string): string => path.join(gitDir, name);
  const before = Date.now() - refLockLeftAfterMs;
  const refs = [...locksBesideRefs.map(at), ...(await locksBelow(at("refs")))];
  for (const file of refs) await removeOlder(file, before);
}

/**
 * Removes what a killed upkeep left, at once: unless one is under way. Until then every further upkeep fails at its
 * locks. Where it is not known whether one lives, what is old is removed.
 */
export async function removeLeftOverUpkeep(gitDir: string): Promise<void> {
  const found: string[] = [];
  for (const [name, pattern] of upkeepFiles) {
    const directory = path.join(gitDir, name);
    const names = (await entriesOf(directory)).map((entry) => entry.name);
    found.push(...names.filter((one) => pattern.test(one)).map((one) => path.join(directory, one)));
  }
  await removeOfDead(gitDir, "upkeep", found);
  for (const file of found) await removeOlder(file, Date.now() - leftOverAfterMs);
}

const locksAtOnce = 16;

/**
 * Removes locks of these refs whose owner was killed, at once: unless a program lives that takes such locks.
 * Until then git refuses every change of the refs.
 *
 * @param refs well-formed names below `refs/`
 * @returns true when some were removed, so that a refused change may be tried again
 */
export async function removeDeadLocks(gitDir: string, refs: readonly string[]): Promise<boolean> {
  const names = [...refs, "packed-refs"];
  const there: string[] = [];
  const breathe = breather();
  // A push may name 100,000 refs: all at once would hold the event loop, and the threads that files are read on.
  for (let at = 0; at < names.length; at += locksAtOnce) {
    await breathe();
    const some = names.slice(at, at + locksAtOnce).map((name) => path.join(gitDir, `${name}.lock`));
    const found = await Promise.all(some.map((file) => ifThere(lstat(file))));
    there.push(...some.filter((_, index) => found[index]?.isFile()));
  }
  if (there.length === 0) return false;
  await removeOfDead(gitDir, "pushing", there);
  const left = await Promise.all(there.map((file) => ifThere(lstat(file))));
  return left.some((file) => file === undefined);
}

async function locksBelow(directory: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await entriesOf(directory)) {
    const file = path.join(directory, entry.name);
    if (entry.isDirectory()) found.push(...(await locksBelow(file)));
    // No ref's name ends so.
    else if (entry.name.endsWith(".lock")) found.push(file);
  }
  return found;
}

async function removeOlder(file: string, before: number): Promise<void> {
  const found = await ifThere(lstat(file));
  if (found !== undefined && found.mtimeMs < before) await rm(file, { force: true });
}

/** None where there is no directory; a ref `a/b` is a file where `a/b/c.lock` is looked for. */
const entriesOf = async (directory: string) =>
  (await ifThere(readdir(directory, { withFileTypes: true }))) ?? [];
