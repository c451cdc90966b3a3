import {
  createPostgresBackend,
  createRedisBackend,
  type DefaultJobOptions,
  DelayedError,
  type IQueueBackend,
  type Queue,
  type Job as QueuedJob,
  runMigrations,
  UnrecoverableError,
  type WorkerOptions,
  withBackend,
} from "bullmq";
import type { Logger } from "pino";
import { connectPostgres } from "../postgres.ts";
import { throttledLog } from "../throttled-log.ts";
import { openQueuePool } from "./queue-pool.ts";

/** Work to be done at least once. Adding one whose id is known to the queue changes nothing. */
export type Job = Readonly<{
  queue: string;
  /** Deterministic, so that a repeated step adds nothing; without colons. */
  id: string;
  data: Readonly<Record<string, unknown>>;
  delayMs?: number;
}>;

/** Trying again cannot help: a malformed payload, a thing that is gone for good. */
export class PermanentFailure extends Error {
  override readonly name = "PermanentFailure";
}

/** A job that is being run. */
export type RunningJob = Readonly<{
  id: string;
  /** Puts it back into the queue for so long, as if it had not begun. Its run has to end then. */
  putBack: (ms: number) => Promise<void>;
}>;

export type WorkOptions = Readonly<{
  queue: string;
  concurrency: number;
  /**
   * One attempt. A PermanentFailure fails the job for good; anything else thrown is tried again
   * later. The signal aborts when the process must end, or the job was taken for lost.
   */
  run: (data: unknown, signal: AbortSignal, job: RunningJob) => Promise<void>;
}>;

export type RunningWorker = Readonly<{
  /** Takes no more jobs, lets running ones end, and aborts those that take longer than the limit. */
  close: () => Promise<void>;
}>;

export type Queues = Readonly<{
  add: (jobs: readonly Job[]) => Promise<void>;
  /** Resolves once the worker takes jobs. */
  work: (options: WorkOptions) => Promise<RunningWorker>;
  /** Lets a job that was put back begin before its time. @throws when it does not wait for its time */
  recall: (queue: string, id: string) => Promise<void>;
  /** For looking inside; its type is BullMQ's, whatever the backend. */
  queue: (name: string) => Queue;
  close: () => Promise<void>;
}>;

export type QueueOptions = Readonly<{
  databaseUrl: string;
  /** Queues live in Redis when given, otherwise in the schema `bullmq` of the database. */
  redisUrl?: string | undefined;
  log: Logger;
}>;

/** About a day of attempts, one a minute: longer than an outage stays unnoticed. */
const attemptsMax = 1_500;
const backoffMaxMs = 60_000;
const backoffMinMs = 500;
const closeGraceMs = 5_000;
const hourSeconds = 3_600;
/** On PostgreSQL, adding jobs together makes two temporary tables, which costs as much as adding so many one by one. */
const oneByOneMax = 8;

const jobOptions: DefaultJobOptions = {
  attempts: attemptsMax,
  backoff: { type: "custom" },
  // Long enough to know a job again that is added once more after a crash. Not by count: on PostgreSQL each
  // job that ends would read all that are kept.
  removeOnComplete: { age: hourSeconds },
  removeOnFail: { age: 7 * 24 * hourSeconds, count: 5_000 },
};

/**
 * Opens the queues, and makes their tables when they live in PostgreSQL. What a job did is known by
 * the events it appended, never by the queue: BullMQ's own events get lost on PostgreSQL.
 */
export async function openQueues(options: QueueOptions): Promise<Queues> {
  if (options.redisUrl !== undefined) return queuesOn(redisBackend(options.redisUrl), options.log);
  await migrate(options.databaseUrl);
  return queuesOn(postgresBackend(options.databaseUrl), options.log);
}

async function migrate(databaseUrl: string): Promise<void> {
  const client = await connectPostgres(databaseUrl, "queue migration");
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}

/** The classes bound to one backend, and what each of them connects by. */
type Backend = Pick<ReturnType<typeof withBackend<IQueueBackend, object>>, "Queue" | "Worker"> &
  Readonly<{ connection: () => object; close: () => Promise<void> }>;

function postgresBackend(connectionString: string): Backend {
  const classes = withBackend(createPostgresBackend) as unknown as Backend;
  return { ...classes, ...openQueuePool(connectionString) };
}

function redisBackend(url: string): Backend {
  const classes = withBackend(createRedisBackend) as unknown as Backend;
  // A blocking read must not give up: the worker would end with it.
  const connection = () => ({ url, maxRetriesPerRequest: null });
  return { ...classes, connection, close: async () => undefined };
}

function queuesOn(backend: Backend, log: Logger): Queues {
  const queues = new Map<string, Queue>();
  const report = (name: string) =>
    throttledLog((error: unknown, suppressed: number) =>
      log.error({ err: error, queue: name, suppressed }, "queue connection failed"),
    );

  function queue(name: string): Queue {
    const known = queues.get(name);
    if (known !== undefined) return known;
    const connection = backend.connection();
    const made = new backend.Queue(name, { connection, defaultJobOptions: jobOptions });
    made.on("error", report(name));
    const shared = made as unknown as Queue;
    queues.set(name, shared);
    return shared;
  }

  return {
    queue,
    async add(jobs) {
      for (const name of new Set(jobs.map((job) => job.queue))) {
        const inQueue = jobs.filter((job) => job.queue === name).map(toAdd);
        if (inQueue.length > oneByOneMax) await queue(name).addBulk(inQueue);
        else for (const { data, opts } of inQueue) await queue(name).add(name, data, opts);
      }
    },
    work: (options) => work(backend, options, report(options.queue)),
    async recall(name, id) {
      const job = await queue(name).getJob(id);
      if (job === undefined) throw new Error(`There is no job ${id} in ${name}`);
      await job.promote();
    },
    async close() {
      await Promise.all([...queues.values()].map((each) => each.close()));
      await backend.close();
    },
  };
}

function toAdd({ queue: name, id, data, delayMs = 0 }: Job) {
  return { name, data, opts: { jobId: id, delay: Math.max(0, Math.round(delayMs)) } };
}

async function work(
  backend: Backend,
  { queue, concurrency, run }: WorkOptions,
  onError: (error: unknown) => void,
): Promise<RunningWorker> {
  const ending = new AbortController();
  const options: WorkerOptions<object> = {
    connection: backend.connection(),
    concurrency,
    // After a kill, its jobs go to others within half a minute.
    lockDuration: 15_000,
    stalledInterval: 10_000,
    // A killed process does not count as a failure of the job.
    maxStalledCount: attemptsMax,
    // The default leaves a worker asleep for 15 s after an outage.
    runRetryDelay: 1_000,
    settings: {
      backoffStrategy: (attempt) => Math.min(backoffMinMs * 2 ** (attempt - 1), backoffMaxMs),
    },
  };
  // BullMQ gives a signal only to a function that names three parameters.
  const process = async (job: QueuedJob, token?: string, lost?: AbortSignal) => {
    const signal = lost ? AbortSignal.any([ending.signal, lost]) : ending.signal;
    let isPutBack = false;
    const putBack = async (ms: number): Promise<void> => {
      await job.moveToDelayed(Date.now() + ms, token);
      isPutBack = true;
    };
    try {
      await run(job.data, signal, { id: String(job.id), putBack });
    } catch (error) {
      if (error instanceof PermanentFailure) throw new UnrecoverableError(error.message);
      throw error;
    }
    if (isPutBack) throw new DelayedError();
  };
  const worker = new backend.Worker(queue, process, options);
  worker.on("error", onError);
  await worker.waitUntilReady();
  return {
    async close() {
      const late = setTimeout(() => ending.abort(), closeGraceMs);
      await worker.close();
      clearTimeout(late);
    },
  };
}
