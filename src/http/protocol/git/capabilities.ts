import { once } from "node:events";

import type { PackProcess } from "../../../git/pack-service.ts";

/** Git may be replaced by a newer one while we run. */
const keptMs = 10 * 60_000;

let cached: Readonly<{ answer: Promise<Buffer>; until: number }> | undefined;

/**
 * What upload-pack advertises in version 2 of the protocol: what git can do, and nothing of the
 * repository; gitprotocol-v2(5), "Capability Advertisement". Kept for some minutes, so that a fetch
 * starts one program less.
 *
 * @param start upload-pack advertising, in version 2, for any repository
 * @throws Error when git failed; the next call starts git again
 */
export function uploadCapabilities(start: () => PackProcess, now = Date.now()): Promise<Buffer> {
  if (cached !== undefined && cached.until > now) return cached.answer;
  const pending = { answer: advertised(start()), until: now + keptMs };
  cached = pending;
  pending.answer.catch(() => {
    if (cached === pending) cached = undefined;
  });
  return pending.answer;
}

async function advertised(child: PackProcess): Promise<Buffer> {
  child.stdin.end();
  child.stderr.resume();
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [exitCode] = (await once(child, "close")) as [number | null];
  if (exitCode !== 0) throw new Error("git upload-pack did not say what it can do");
  return Buffer.concat(chunks);
}
