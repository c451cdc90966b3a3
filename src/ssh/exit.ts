import { once } from "node:events";

import type { PackProcess } from "../git/pack-service.ts";

/** How a program ended; 1 when it was killed. */
export async function exitOf(child: PackProcess): Promise<number> {
  const [exitCode] = (await once(child, "close")) as [number | null];
  return exitCode ?? 1;
}
