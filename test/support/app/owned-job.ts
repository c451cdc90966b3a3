import { z } from "zod";

import type { Job } from "../../../src/platform/queue/queue.ts";

export const ownedQueue = "owned";

const Owned = z.object({ owner: z.string(), n: z.int() });
export const ownedData = Owned;

/** Jobs that name their owner and their place. */
export const jobsOf = (owner: string, count: number): readonly Job[] =>
  Array.from({ length: count }, (_, n) => {
    return { queue: ownedQueue, id: `${owner}-${n}`, data: { owner, n } };
  });

export const ownerIn = async (data: unknown): Promise<string> => Owned.parse(data).owner;
