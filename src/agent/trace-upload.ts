import { setTimeout as delay } from "node:timers/promises";

import { type Client, persistently } from "./client.ts";
import type { FailureReason, Job } from "./job.ts";
import type { LogFile } from "./log-file.ts";

const pieceBytesMax = 1024 ** 2;
const intervalMsDefault = 3_000;
const intervalMsMax = 15_000;
/** The service takes an agent that is silent for a minute for gone. */
const touchMsDefault = 10_000;

export type JobEnd = Readonly<
  { state: "success" } | { state: "failed"; reason: FailureReason; exitCode?: number }
>;

type TraceUploadOptions = Readonly<{
  client: Client;
  job: Pick<Job, "id" | "token">;
  log: LogFile;
  info: unknown;
  /** An agent without output to send sends a keepalive after this time; the answer reports a cancellation. */
  touchMs?: number;
  /** The service says that the run is over: everything of it ends now. */
  onAbort: () => void;
  /** The service reports that the job was canceled: the steps after its script may still run. */
  onCancel: () => void;
}>;

/** Reports to the service how a run goes: its log as it grows, signs of life, and its end. */
export class TraceUpload {
  readonly #options: TraceUploadOptions;
  readonly #stopped = new AbortController();
  #sent = 0;
  #spokeAt = 0;
  #pieceAt = 0;
  #intervalMs = intervalMsDefault;
  #isOver = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: TraceUploadOptions) {
    this.#options = options;
  }

  /**
   * Confirms that the job is taken, before any work. The answer may get lost: without another try the service would
   * take the agent for gone.
   *
   * @returns false when it was given to another agent or canceled in the meantime
   */
  async confirm(signal: AbortSignal): Promise<boolean> {
    const answer = await persistently(() => this.#put({ state: "running" }, signal), signal);
    if (answer.status === 403 || answer.status === 404 || this.#isOver) return false;
    if (answer.status >= 300) throw new Error(`The service answered ${answer.status}.`);
    this.#loop = this.#run();
    return true;
  }

  async #run(): Promise<void> {
    const { touchMs = touchMsDefault } = this.#options;
    const { signal } = this.#stopped;
    // The first piece does not wait for the interval of the service, so that a reader sees soon that the job runs.
    let intervalMs = intervalMsDefault;
    while (!signal.aborted && !this.#isOver) {
      const pauseMs = Math.min(intervalMs, touchMs);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      // What is not sent now is sent at the next turn.
      await this.#tick(touchMs).catch(() => undefined);
      intervalMs = this.#intervalMs;
    }
  }

  async #tick(touchMs: number): Promise<void> {
    const { log } = this.#options;
    if (log.size > this.#sent && Date.now() - this.#pieceAt >= this.#intervalMs) {
      this.#pieceAt = Date.now();
      await this.#piece();
    } else if (Date.now() - this.#spokeAt >= touchMs) await this.#put({ state: "running" });
  }

  /** @returns the status; the next piece begins where the service says */
  async #piece(): Promise<number> {
    const { client, job, log } = this.#options;
    const data = log.read(this.#sent, pieceBytesMax);
    const answer = await client.send({
      method: "PATCH",
      path: `/jobs/${job.id}/trace?debug_trace=false`,
      body: data,
      headers: {
        "job-token": job.token,
        "content-type": "text/plain",
        "content-range": `${this.#sent}-${this.#sent + data.length - 1}`,
      },
    });
    await answer.body?.cancel();
    this.#noteAnswer(answer);
    if (answer.status === 202) this.#sent += data.length;
    if (answer.status === 416) {
      const [, next = "0"] = /-(\d+)$/.exec(answer.headers.get("range") ?? "") ?? [];
      this.#sent = Math.min(Number(next), log.size);
    }
    return answer.status;
  }

  async #put(body: object, signal?: AbortSignal): Promise<Response> {
    const { client, job, info, log } = this.#options;
    const output = log.size === 0 ? {} : { checksum: log.checksum, bytesize: log.size };
    const answer = await client.send({
      method: "PUT",
      path: `/jobs/${job.id}`,
      json: { token: job.token, info, output, ...body },
      headers: { "job-token": job.token },
      ...(signal && { signal }),
    });
    await answer.body?.cancel();
    this.#noteAnswer(answer);
    return answer;
  }

  #noteAnswer({ status, headers }: Response): void {
    this.#spokeAt = Date.now();
    const seconds = Number(headers.get("x-gitlab-trace-update-interval") ?? 0);
    this.#intervalMs = seconds > 0 ? Math.min(seconds * 1_000, intervalMsMax) : intervalMsDefault;
    const jobStatus = headers.get("job-status") ?? "";
    const isOver = status === 403 || jobStatus === "canceled" || jobStatus === "failed";
    if (isOver && !this.#stopped.signal.aborted) {
      this.#isOver = true;
      this.#options.onAbort();
    } else if (isOver) this.#isOver = true;
    else if (jobStatus === "canceling") this.#options.onCancel();
  }

  /**
   * Sends the rest of the log and then the end of the run, until the service has taken both or the
   * time is over.
   *
   * @returns whether it has
   */
  async finish(end: JobEnd, withinMs: number): Promise<boolean> {
    this.#stopped.abort();
    await this.#loop;
    const deadline = Date.now() + withinMs;
    let pauseMs = 250;
    while (!this.#isOver && Date.now() < deadline) {
      const done = await this.#tryToFinish(end).catch(() => false);
      if (done) return true;
      if (this.#isOver) break;
      await delay(Math.min(pauseMs, Math.max(0, deadline - Date.now())));
      pauseMs = Math.min(pauseMs * 2, 30_000);
    }
    return false;
  }

  async #tryToFinish(end: JobEnd): Promise<boolean> {
    const { log } = this.#options;
    while (log.size > this.#sent && !this.#isOver) {
      const status = await this.#piece();
      if (status !== 202 && status !== 416) return false;
    }
    if (this.#isOver) return false;
    const failed = end.state === "failed";
    const { status } = await this.#put({
      state: end.state,
      ...(failed && { failure_reason: end.reason }),
      ...(failed && end.exitCode !== undefined && { exit_code: end.exitCode }),
    });
    return status === 200;
  }
}
