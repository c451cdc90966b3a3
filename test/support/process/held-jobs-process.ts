// Run as a program of its own by tests that kill it: a worker whose jobs never end. Its argument is the address of Redis.
import pino from "pino";
import { z } from "zod";

import { openQueues } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { defineWorker, startWorker } from "../../../src/workers/core/worker.ts";
import { ownedQueue, ownerIn } from "../app/owned-job.ts";

const [redisUrl = ""] = process.argv.slice(2);
const log = pino({ level: "silent" });
const queues = await openQueues({ databaseUrl: "", redisUrl, log });
const worker = defineWorker({
  queue: ownedQueue,
  concurrency: 4,
  payload: z.unknown(),
  run: () => new Promise<void>(() => undefined),
});
// The worker uses no more of what workers have.
await startWorker(worker, { queues, log } as unknown as WorkerDeps, ownerIn);
