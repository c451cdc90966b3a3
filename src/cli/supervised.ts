import { once } from "node:events";
import { z } from "zod";

import type { Environment } from "../config.ts";
import type { StopSignal } from "./stop-signal.ts";

const Message = z.object({ settings: z.record(z.string(), z.string()) });

/**
 * Settings that the supervisor sends beside the environment. It sends them once the stores are up;
 * until then this process loads its modules.
 *
 * @returns undefined when the process is requested to stop first.
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
