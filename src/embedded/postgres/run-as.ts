import { execFile } from "node:child_process";
import { chown } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** How to run a program of PostgreSQL, which refuses to run as root. */
export type RunAs = Readonly<{
  /** Put before the program and its arguments. */
  prefix: readonly string[];
  /** The system user to become; undefined keeps the present one. */
  user: Readonly<{ uid: number; gid: number }> | undefined;
}>;

const present: RunAs = { prefix: [], user: undefined };

/**
 * An ordinary user runs it directly. Root runs it in a user namespace where root is called nobody:
 * outside it stays root, so that a data directory below /root works and its files belong to root.
 * Where namespaces are forbidden (most container runtimes), the system user `postgres` is taken.
 *
 * @throws Error that says what to do, when root has neither way.
 */
export async function chooseRunAs(): Promise<RunAs> {
  if (process.getuid?.() !== 0) return present;
  return (await userNamespace()) ?? (await postgresUser()) ?? refuse();
}

// 65534 is nobody and nogroup everywhere, though some distributions call the group otherwise.
const unshare = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"];

async function userNamespace(): Promise<RunAs | undefined> {
  const [program = "", ...args] = unshare;
  try {
    await run(program, [...args, "true"]);
    return { prefix: unshare, user: undefined };
  } catch {
    return undefined;
  }
}

async function postgresUser(): Promise<RunAs | undefined> {
  try {
    const uid = Number((await run("id", ["-u", "postgres"])).stdout);
    const gid = Number((await run("id", ["-g", "postgres"])).stdout);
    return { prefix: [], user: { uid, gid } };
  } catch {
    return undefined;
  }
}

function refuse(): never {
  throw new Error(
    "PostgreSQL refuses to run as root, this system forbids user namespaces (unshare --user) and has " +
      "no user named postgres. Start as an ordinary user, or set DATABASE_URL to your own PostgreSQL.",
  );
}

/** Gives a file or directory to the user PostgreSQL will run as. */
export async function handOver(file: string, { user }: RunAs): Promise<void> {
  if (user !== undefined) await chown(file, user.uid, user.gid);
}

/** @throws Error when the other user cannot reach the binaries or the data directory. */
export async function assertReachable(runAs: RunAs, files: readonly string[]): Promise<void> {
  if (runAs.user === undefined) return;
  for (const file of files) {
    try {
      await run("test", ["-x", file], { ...runAs.user, cwd: "/" });
    } catch {
      throw new Error(
        `The user postgres, whom PostgreSQL has to run as here, cannot reach ${file}. Move it out of ` +
          "the private directory, start as an ordinary user, or set DATABASE_URL.",
      );
    }
  }
}
