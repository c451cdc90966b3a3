import type { Digests } from "../../../platform/blob/spool.ts";
import { Refusal, type RefusalKind } from "../../../platform/refusal.ts";
import type { RequestContext } from "../request.ts";
import type { TakenFile } from "./multipart.ts";

/** What an upload says that its file is, beside the file: a checksum in hexadecimal digits, under its own name. */
export type Claim = Readonly<{ name: string; algorithm: string; sent: string }>;

/**
 * Holds the bytes of a file against the checksums that came with it, for every type. An empty one is none; one that is
 * malformed, or of an algorithm that is not there, does not match.
 *
 * @throws Refusal `blob.digest_mismatch`
 */
export function mustMatchClaims(
  claims: readonly Claim[],
  digests: Digests & Readonly<Record<string, string>>,
  kind: RefusalKind = "unprocessable",
): void {
  for (const { name, algorithm, sent } of claims) {
    const found = digests[algorithm];
    if (sent === "" || sent.toLowerCase() === found) continue;
    const is = found === undefined ? `${algorithm} is not known here` : `the file's is ${found}`;
    const message = `${name} is ${sent.slice(0, 128)}, but ${is}.`;
    throw new Refusal(kind, "blob.digest_mismatch", message);
  }
}

const algorithms = ["md5", "sha1", "sha256", "sha512"] as const;

/** Of headers, as clients of many types send them. */
export const headerClaims = ({ header }: Pick<RequestContext, "header">): readonly Claim[] =>
  algorithms.map((algorithm) => {
    const name = `X-Checksum-${algorithm}`;
    return { name, algorithm, sent: header(name).trim() };
  });

/** What was received, or nothing of it where the check throws. @throws what `check` throws */
export async function orRelease<Held extends TakenFile>(
  received: Held,
  check: () => Promise<void>,
): Promise<Held> {
  try {
    await check();
    return received;
  } catch (error) {
    await received.blob.release();
    throw error;
  }
}
