import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import type { Vault } from "./vault.ts";

/** A head of the log's tree, to be signed. */
export type Checkpoint = Readonly<{ size: bigint; root: Buffer; timestamp: string }>;

export type LogKey = Readonly<{
  /** Names the log in its checkpoints: the address of the instance. */
  origin: string;
  /** Raw Ed25519 public key, 32 bytes. */
  publicKey: Buffer;
  /** Of the signed note: the first 4 bytes of a hash of name and key. */
  keyId: Buffer;
  signature: (checkpoint: Checkpoint) => Buffer;
  isSignature: (checkpoint: Checkpoint, signature: Buffer) => boolean;
}>;

/** RFC 8410: what stands before the 32 bytes of an Ed25519 key in PKCS #8 and in SPKI. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");
const spkiBytes = 12;
/** C2SP signed-note: type of an Ed25519 key. */
const ed25519 = 1;

/**
 * The key of the instance for heads of its log. It follows from SECRET_KEY, so every process has it, no
 * backup forgets it, and it changes with that key alone.
 *
 * @param publicUrl address that clients know the instance by
 */
export function logKey(vault: Pick<Vault, "digest">, publicUrl: string): LogKey {
  return logKeyOf(vault, `${new URL(publicUrl).host}/log`);
}

/** The same by the name that a checkpoint has the log by. */
export function logKeyOf({ digest }: Pick<Vault, "digest">, origin: string): LogKey {
  const seed = Buffer.from(digest("log tree head key", "ed25519"), "hex");
  const der = Buffer.concat([pkcs8, seed]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const publicObject: KeyObject = createPublicKey(privateKey);
  const publicKey = publicObject.export({ format: "der", type: "spki" }).subarray(spkiBytes);
  const named = [Buffer.from(`${origin}\n`), Buffer.of(ed25519), publicKey];
  const keyId = createHash("sha256").update(Buffer.concat(named)).digest().subarray(0, 4);
  return {
    origin,
    publicKey,
    keyId,
    signature: (checkpoint) => sign(null, noteText(origin, checkpoint), privateKey),
    isSignature: (checkpoint, signature) =>
      verify(null, noteText(origin, checkpoint), publicObject, signature),
  };
}

/** C2SP tlog-checkpoint: origin, size and root, a line each; then the time as an extension line. */
function noteText(origin: string, { size, root, timestamp }: Checkpoint): Buffer {
  return Buffer.from(`${origin}\n${size}\n${root.toString("base64")}\ntimestamp ${timestamp}\n`);
}

/** C2SP signed-note: the text, an empty line, and the signature under the name of its key. */
export function signedNote({ origin, keyId }: LogKey, made: Checkpoint, signature: Buffer): string {
  const box = Buffer.concat([keyId, signature]).toString("base64");
  return `${noteText(origin, made)}\n— ${origin} ${box}\n`;
}
