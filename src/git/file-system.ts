import { execFile } from "node:child_process";
import { open, rm, statfs } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { ifThere } from "../platform/if-there.ts";
import { gitEnvironment } from "./environment.ts";
import { isObjectId } from "./name.ts";

const run = promisify(execFile);

/**
 * Where syncfs(2) is known to return when everything is on the disk: ext2 to ext4, XFS, Btrfs, F2FS, ZFS;
 * and tmpfs, which has none. The numbers are those of statfs(2).
 */
const thorough: ReadonlySet<number> = new Set([
  ...[0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994],
]);

/**
 * Whether `syncFileSystem` can be relied on here. It is tried, which also leaves less to do for the next.
 *
 * @param directory on the file system meant
 */
export async function canSyncFileSystem(directory: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const { type } = await statfs(directory);
  if (!thorough.has(type)) return false;
  return syncFileSystem(directory).then(
    () => true,
    () => false,
  );
}

/** Writes everything that is not yet on the disk; sync(1) of coreutils. @throws when it cannot */
export async function syncFileSystem(directory: string): Promise<void> {
  await run("sync", ["--file-system", "--", directory], { cwd: "/", env: gitEnvironment() });
}

/**
 * Removes files of refs in which a power cut left something else than an object's id. Git makes a ref's file
 * under another name and moves it into place whole, so while the machine runs there is no such file; and
 * it keeps the ref's lock meanwhile, as this does.
 *
 * @param refs full names, of refs that were new
 * @returns those that were removed
 */
export async function removeUnwrittenRefs(
  gitDir: string,
  refs: readonly string[],
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const ref of refs) {
    const file = path.join(gitDir, ref);
    if (await isWhole(file)) continue;
    const lock = `${file}.lock`;
    // Another process changes the ref, or has left a lock that is removed in time; or the ref is gone.
    const held = await ifThere(open(lock, "wx"), "EEXIST");
    if (held === undefined) continue;
    try {
      if (await isWhole(file)) continue;
      await rm(file);
      removed.push(ref);
    } finally {
      await held.close();
      await rm(lock, { force: true });
    }
  }
  return removed;
}

/** Nothing is whole as well: then there is no ref. So is what points to another ref. */
async function isWhole(file: string): Promise<boolean> {
  const handle = await ifThere(open(file, "r"));
  if (handle === undefined) return true;
  try {
    if ((await handle.stat()).isDirectory()) return true;
    const text = (await handle.readFile()).toString("latin1");
    return text.startsWith("ref: ") || isObjectId(text.trimEnd());
  } finally {
    await handle.close();
  }
}
