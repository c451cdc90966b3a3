import { chmod, lstat, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** Rights of others, and more than passing through for the group: PostgreSQL may run as a group of its own. */
const tooWide = 0o067;
const ofOthers = 0o077;

/**
 * Makes the data directory for its owner alone. One that was made with wider rights is tightened, and
 * so is everything directly in it.
 *
 * @returns a message for the operator, who may have to replace secrets that others could read
 */
export async function keepPrivate(dataDir: string): Promise<readonly string[]> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const wide = await tightened(dataDir, tooWide);
  const names = await readdir(dataDir);
  const inside = await Promise.all(
    names.map((name) => tightened(path.join(dataDir, name), ofOthers)),
  );
  if (wide === undefined) return [];
  const closed = wide.closed && inside.every((each) => each?.closed !== false);
  const was = `${dataDir} was open to other users of this machine (mode ${wide.mode.toString(8)}).`;
  if (!closed) return [`${was} Its rights cannot be changed by this user: run chmod -R go= on it.`];
  return [`${was} It is now for its owner alone. Replace secrets that others may have read.`];
}

type Tightened = Readonly<{ mode: number; closed: boolean }>;

/** Undefined when its rights are narrow enough, or it is a link, which has none. */
async function tightened(file: string, forbidden: number): Promise<Tightened | undefined> {
  const entry = await lstat(file).catch(() => undefined);
  if (entry === undefined || entry.isSymbolicLink()) return undefined;
  const mode = entry.mode & 0o777;
  if ((mode & forbidden) === 0) return undefined;
  const closed = await chmod(file, mode & 0o700).then(
    () => true,
    () => false,
  );
  return { mode, closed };
}

/** A socket's path must fit `sockaddr_un`: 104 bytes on macOS, 108 on Linux, with a closing NUL. */
const socketPathBytesMax = 103;

export const isSocketPath = (file: string): boolean =>
  Buffer.byteLength(file) <= socketPathBytesMax;

/**
 * A place for a socket that only its owner reaches: in the given directory, which has to be private,
 * or in a temporary one where that path is too long for a socket.
 *
 * @returns `remove` takes a temporary directory away
 */
export async function socketPlace(
  directory: string,
  name: string,
): Promise<Readonly<{ file: string; remove: () => Promise<void> }>> {
  const file = path.join(path.resolve(directory), name);
  if (isSocketPath(file)) return { file, remove: () => rm(file, { force: true }) };
  const root = isSocketPath(path.join(tmpdir(), "ledgerforge-123456", name)) ? tmpdir() : "/tmp";
  const temporary = await mkdtemp(path.join(root, "ledgerforge-"));
  const remove = () => rm(temporary, { recursive: true, force: true });
  return { file: path.join(temporary, name), remove };
}
