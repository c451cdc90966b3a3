import { once } from "node:events";
import { z } from "zod";

import type { Environment } from "../config.ts";
import type { StopSignal } from "./stop-signal.ts";

const Message = z.object({ settings: z.record(z.string(), z.string()) });

/**
 * What a supervisor has to say beyond the environment. It waits for the stores to come up, which is
 * time for loading modules.
 *
 * @returns undefined when the process has been asked to end before.
 */
export async function suppliedSettings({ signal }: StopSignal): Promise<Environment | undefined> {
  try {
    const [message] = await once(process, "message", { signal });
    return Message.parse(message).settings;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
