import { once } from "node:events";

import type { PackProcess } from "../platform/git/pack-service.ts";

/** Git may be replaced by a newer one while we run. */
const keptMs = 10 * 60_000;

let kept: Readonly<{ answer: Buffer; until: number }> | undefined;

/**
 * What upload-pack advertises in version 2 of the protocol: what git can do, and nothing of the
 * repository; gitprotocol-v2(5), "Capability Advertisement". Asked of git once in a while, so that a fetch
 * starts one program less.
 *
 * @param start upload-pack advertising, in version 2, for any repository
 * @returns undefined when git failed
 */
export async function uploadCapabilities(
  start: () => PackProcess,
  now = Date.now(),
): Promise<Buffer | undefined> {
  if (kept !== undefined && kept.until > now) return kept.answer;
  const child = start();
  child.stdin.end();
  child.stderr.resume();
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [exitCode] = (await once(child, "close")) as [number | null];
  if (exitCode !== 0) return undefined;
  kept = { answer: Buffer.concat(chunks), until: now + keptMs };
  return kept.answer;
}
