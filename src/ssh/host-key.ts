import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import path from "node:path";
import ssh2 from "ssh2";

/** By these clients know the instance again. RSA would cost every start of a fresh one a second. */
const kinds = [
  ["ed25519", () => ssh2.utils.generateKeyPairSync("ed25519")],
  ["ecdsa", () => ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 })],
] as const;

/**
 * The private host keys, made when they are not there: `ssh/host-<kind>` below the data directory, for
 * its owner alone. Several processes on one directory end with the same keys.
 *
 * @returns each in OpenSSH's own format
 */
export async function hostKeys(dataDir: string): Promise<readonly string[]> {
  const directory = path.join(dataDir, "ssh");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return Promise.all(
    kinds.map(async ([kind, generate]) => {
      const file = path.join(directory, `host-${kind}`);
      const there = await readFile(file, "utf8").catch(whenMissing);
      if (there !== undefined) return there;
      await keep(
        file,
        readable(() => generate().private),
      );
      return readFile(file, "utf8");
    }),
  );
}

/** The library now and then writes a key that it cannot read again. */
function readable(generate: () => string): string {
  for (;;) {
    const text = generate();
    if (!(ssh2.utils.parseKey(text) instanceof Error)) return text;
  }
}

/** Complete and on disk before it has its name; the first one there is the one that counts. */
async function keep(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft);
  }
}

function whenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
