import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { readSshPublicKey } from "../../platform/key/ssh-key.ts";
import { gitEnvironment } from "../environment.ts";
import { GpgMissing, importGpgKeys, nextGpgExpiry, withGpgHome } from "./gpg-key.ts";

/** What git found out about the signature of a commit or tag. */
export type SignatureCheck =
  /** Made by a key that was given; `keyId` says by which. It, or the key, may expire: `until`. */
  | Readonly<{ kind: "good"; keyId: string; until?: Date }>
  /** It fits the key, but there is something about it. */
  | Readonly<{ kind: "expired" | "revoked"; keyId: string }>
  /** None of the keys that were given made it. */
  | Readonly<{ kind: "unknown_key"; keyId: string }>
  /** What was signed is not what is there. */
  | Readonly<{ kind: "bad"; keyId: string }>
  | Readonly<{ kind: "unsupported"; program: string }>
  /** Git was ended before it could say anything. */
  | Readonly<{ kind: "unfinished" }>;

export type Signed = Readonly<{ gitDir: string; id: string; type: "commit" | "tag" }>;

const timeoutMs = 15_000;
export const isSshSignatureText = (signature: string): boolean =>
  signature.startsWith("-----BEGIN SSH SIGNATURE-----");

/**
 * The key that a signature of SSH names as its own; undefined when it is none of a kind we register.
 * It proves nothing yet. Format: PROTOCOL.sshsig of OpenSSH.
 */
export function sshSignerOf(signature: string): string | undefined {
  const body = /^-----BEGIN SSH SIGNATURE-----\n([\s\S]*?)\n-----END SSH SIGNATURE-----/.exec(
    signature,
  );
  const bytes = Buffer.from(body?.[1] ?? "", "base64");
  const keyAt = "SSHSIG".length + 4;
  if (bytes.length < keyAt + 4 || bytes.toString("latin1", 0, 6) !== "SSHSIG") return undefined;
  const blob = bytes.subarray(keyAt + 4, keyAt + 4 + bytes.readUInt32BE(keyAt));
  if (blob.length < 4) return undefined;
  const type = blob.toString("latin1", 4, 4 + blob.readUInt32BE(0));
  try {
    return readSshPublicKey(`${type} ${blob.toString("base64")}`).fingerprint;
  } catch {
    return undefined;
  }
}

/** Checks a signature of SSH against one key, given as `type base64`. */
export async function checkSshSignature(
  signed: Signed,
  publicKey: string,
): Promise<SignatureCheck> {
  const { fingerprint: keyId } = readSshPublicKey(publicKey);
  const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-signers-"));
  try {
    const file = path.join(directory, "allowed");
    await writeFile(file, `signer namespaces="git" ${publicKey}\n`);
    const { exitCode, raw } = await verify(signed, gitEnvironment(), [
      ...["-c", `gpg.ssh.allowedSignersFile=${file}`],
    ]);
    if (exitCode === null) return { kind: "unfinished" };
    if (isMissing(raw)) return { kind: "unsupported", program: "ssh-keygen" };
    return { kind: exitCode === 0 ? "good" : "bad", keyId };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Checks a signature of GnuPG against the keys given, armoured. */
export async function checkGpgSignature(
  signed: Signed,
  publicKeys: readonly string[],
): Promise<SignatureCheck> {
  try {
    return await withGpgHome(async (home, environment) => {
      await importGpgKeys(home, environment, publicKeys);
      const { exitCode, raw } = await verify(signed, environment, []);
      if (exitCode === null) return { kind: "unfinished" };
      const check = readGpgStatus(raw, exitCode);
      if (check.kind !== "good") return check;
      const keyUntil = await nextGpgExpiry(environment);
      const times = [check.until, keyUntil].flatMap((time) => time?.getTime() ?? []);
      if (times.length === 0) return check;
      return { ...check, until: new Date(Math.min(...times)) };
    });
  } catch (error) {
    if (error instanceof GpgMissing) return { kind: "unsupported", program: "gpg" };
    throw error;
  }
}

/** Lines of `--status-fd`: doc/DETAILS of GnuPG. */
export function readGpgStatus(raw: string, exitCode: number): SignatureCheck {
  const status = new Map<string, readonly string[]>();
  for (const line of raw.split("\n")) {
    const [mark, name = "", ...fields] = line.split(" ");
    if (mark === "[GNUPG:]") status.set(name, fields);
  }
  const keyId = ["VALIDSIG", "GOODSIG", "EXPKEYSIG", "REVKEYSIG", "EXPSIG", "BADSIG", "ERRSIG"]
    .map((name) => status.get(name)?.[0] ?? "")
    .find(Boolean);
  const found = { keyId: keyId ?? "" };
  if (status.has("REVKEYSIG")) return { kind: "revoked", ...found };
  if (status.has("EXPKEYSIG") || status.has("EXPSIG")) return { kind: "expired", ...found };
  if (status.has("NO_PUBKEY")) return { kind: "unknown_key", ...found };
  if (exitCode === 0 && status.has("GOODSIG")) {
    // VALIDSIG <fingerprint> <day> <made at> <expires at, 0 for never>
    const expires = Number(status.get("VALIDSIG")?.[3] ?? 0);
    const until = expires > 0 ? { until: new Date(expires * 1_000) } : {};
    return { kind: "good", ...found, ...until };
  }
  if (isMissing(raw)) return { kind: "unsupported", program: "gpg" };
  return { kind: "bad", ...found };
}

const isMissing = (raw: string): boolean => /cannot run \S+: No such file/.test(raw);

/** Without an exit code when it was killed or could not be started. */
type Verified = Readonly<{ exitCode: number | null; raw: string }>;

/** git-verify-commit(1) and git-verify-tag(1), whose `--raw` is on standard error. */
function verify(
  { gitDir, id, type }: Signed,
  environment: Readonly<Record<string, string>>,
  settings: readonly string[],
): Promise<Verified> {
  const args = [...settings, `--git-dir=${gitDir}`, `verify-${type}`, "--raw", id];
  return new Promise((resolve) => {
    const options = {
      cwd: "/",
      env: environment,
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    } as const;
    execFile("git", args, options, (error, _stdout, stderr) => {
      const exitCode = error === null ? 0 : error.code;
      resolve({ exitCode: typeof exitCode === "number" ? exitCode : null, raw: stderr });
    });
  });
}
