import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import ssh2, { type EncryptedPrivateKey, type ServerConfig } from "ssh2";

import { writeFirst } from "../platform/first-file.ts";
import { ifThere } from "../platform/if-there.ts";

/** As of OpenSSH's own: what a client of ten years ago can still check. */
const rsaBits = 3072;

type Generate = () => Promise<string>;

/** By these clients know the instance again. */
const kinds: readonly (readonly [kind: string, generate: Generate])[] = [
  ["ed25519", async () => ssh2.utils.generateKeyPairSync("ed25519").private],
  ["ecdsa", async () => ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 }).private],
  // A search for primes, half a second long: beside this thread, not in it.
  ["rsa", generateRsa],
];

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
      const there = await ifThere(readFile(file, "utf8"));
      if (there !== undefined) return there;
      await writeFirst(file, await readable(generate));
      return readFile(file, "utf8");
    }),
  );
}

function generateRsa(): Promise<string> {
  return new Promise((resolve, reject) => {
    ssh2.utils.generateKeyPair("rsa", { bits: rsaBits }, (error, pair) => {
      if (error === null) resolve(pair.private);
      else reject(error);
    });
  });
}

/** The library now and then writes a key that it cannot read again. */
async function readable(generate: Generate): Promise<string> {
  for (;;) {
    const text = await generate();
    if (!(ssh2.utils.parseKey(text) instanceof Error)) return text;
  }
}

/**
 * The keys in the form that the library needs. It would list an RSA key under `ssh-rsa` too, which is
 * SHA-1, whatever algorithms are configured; so the key is passed once under each name it shall have (RFC 8332).
 *
 * @param texts as of `hostKeys`
 */
export function offeredKeys(texts: readonly string[]): ServerConfig["hostKeys"] {
  return texts.flatMap((text): ServerConfig["hostKeys"] => {
    const key = ssh2.utils.parseKey(text);
    if (key instanceof Error) throw key;
    if (key.type !== "ssh-rsa") return [text];
    return ["rsa-sha2-512", "rsa-sha2-256"].map((type) => {
      // Its types know parsed keys only by themselves; it takes them where a text with a passphrase is.
      const known: EncryptedPrivateKey = { key: Object.create(key, { type: { value: type } }) };
      return known;
    });
  });
}
