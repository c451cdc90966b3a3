import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Limit } from "../../platform/limit.ts";
import { Refusal } from "../../platform/refusal.ts";
import { gitEnvironment } from "../environment.ts";

export type GpgPublicKey = Readonly<{
  /** Written anew by gpg from what it understood: one key, without the signatures of others. */
  armoured: string;
  /** Of the primary key. */
  fingerprint: string;
  /** Of the primary key and its subkeys. */
  fingerprints: readonly string[];
}>;

export const gpgKeyLengthMax = 64 * 1024;
const timeoutMs = 10_000;

/** Reading a key takes three runs of gpg, each a process for up to ten seconds. */
const readings = new Limit({
  name: "gpg.keys",
  total: 4,
  share: 1,
  whenFull: { refuseAfterMs: 30_000 },
  waitersMax: 200,
  waitersShare: 16,
});

/** gpg fetches, prompts for, starts and trusts nothing; a signature counts for the keys that are given. */
const homeSettings = [
  ...["batch", "no-tty", "no-autostart", "disable-dirmngr", "no-auto-key-retrieve"],
  ...["no-auto-check-trustdb", "trust-model always", "lock-never"],
].join("\n");

/** The environment of a gpg with a home of its own, which is gone afterwards. */
export async function withGpgHome<Result>(
  run: (home: string, environment: Readonly<Record<string, string>>) => Promise<Result>,
): Promise<Result> {
  // The directory is for its owner alone, as gpg demands.
  const home = await mkdtemp(path.join(tmpdir(), "ledgerforge-gpg-"));
  try {
    await writeFile(path.join(home, "gpg.conf"), `${homeSettings}\n`);
    return await run(home, gitEnvironment({ GNUPGHOME: home }));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** gpg is not installed, so nothing can be said about its signatures. */
export class GpgMissing extends Error {
  override readonly name = "GpgMissing";
}

/** Puts keys into the ring of a home. @throws GpgMissing */
export async function importGpgKeys(
  home: string,
  environment: Readonly<Record<string, string>>,
  keys: readonly string[],
): Promise<void> {
  const files = await Promise.all(
    keys.map(async (key, index) => {
      const file = path.join(home, `key-${index}`);
      await writeFile(file, key);
      return file;
    }),
  );
  if (files.length > 0) await gpg(environment, ["--quiet", "--import", "--", ...files]);
}

/** When the first of the keys and subkeys in a home's ring expires that has not yet; `null` for none. */
export async function nextGpgExpiry(
  environment: Readonly<Record<string, string>>,
): Promise<Date | null> {
  const listing = await gpg(environment, ["--with-colons", "--list-keys"]);
  const times = listing
    .split("\n")
    .map((line) => line.split(":"))
    .filter(([kind]) => kind === "pub" || kind === "sub")
    // Seconds; ISO 8601 from the year 2038 on, for which later is enough.
    .map((fields) => Number(fields[6] || Number.NaN) * 1_000)
    .filter((time) => time > Date.now());
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/**
 * One public key as `gpg --armor --export` prints it.
 *
 * @throws Refusal `unprocessable` with `gpg_key.invalid` or `gpg_key.unusable`, `unavailable` with
 * `gpg_key.unavailable` where gpg is not installed, `service.busy` when too many keys wait, of the caller or of all
 */
export async function parseGpgPublicKey(text: string): Promise<GpgPublicKey> {
  const begins = text.trim().startsWith("-----BEGIN PGP PUBLIC KEY BLOCK-----");
  if (!begins || text.length > gpgKeyLengthMax)
    throw invalid("This is not an armoured public key.");
  try {
    return await readings.run(() =>
      withGpgHome(async (home, environment) => {
        await importGpgKeys(home, environment, [text]).catch((error: unknown) => {
          throw error instanceof GpgMissing ? error : invalid("gpg does not understand this key.");
        });
        const listing = await gpg(environment, ["--with-colons", "--fingerprint", "--list-keys"]);
        const { fingerprint, fingerprints } = readListing(listing);
        const exporting = ["--armor", "--export-options", "export-minimal", "--export", "--"];
        return {
          armoured: await gpg(environment, [...exporting, fingerprint]),
          fingerprint,
          fingerprints,
        };
      }),
    );
  } catch (error) {
    if (!(error instanceof GpgMissing)) throw error;
    throw new Refusal("unavailable", "gpg_key.unavailable", "gpg is not installed here.");
  }
}

/** Fields of a listing: doc/DETAILS of GnuPG. */
function readListing(listing: string): Omit<GpgPublicKey, "armoured"> {
  const records = listing.split("\n").map((line) => line.split(":"));
  const primary = records.filter(([kind]) => kind === "pub");
  const [key] = primary;
  if (key === undefined || primary.length > 1) throw invalid("Add one public key at a time.");
  const why: Readonly<Record<string, string>> = { r: "revoked", e: "expired", i: "invalid" };
  const validity = why[key[1] ?? ""];
  if (validity !== undefined) throw refusal("gpg_key.unusable", `This key is ${validity}.`);
  const fingerprints = records.filter(([kind]) => kind === "fpr").map((fields) => fields[9] ?? "");
  const [fingerprint = ""] = fingerprints;
  return { fingerprint, fingerprints };
}

function gpg(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environment, timeout: timeoutMs, killSignal: "SIGKILL" } as const;
    execFile("gpg", args, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error.code === "ENOENT" ? new GpgMissing("gpg is not installed") : error);
    });
  });
}

const invalid = (message: string): Refusal => refusal("gpg_key.invalid", message);

function refusal(code: string, message: string): Refusal {
  const errors = [{ field: "publicKey", code, message }];
  return new Refusal("unprocessable", code, message, { errors });
}
