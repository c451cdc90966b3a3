import { expect } from "chai";
import { waitingFor } from "../../../src/http/protocol/runner/queue.ts";
import type { Answer, TestApp } from "../app/app.ts";
import { info } from "./agent.ts";

export type TakenJob = Readonly<{
  id: number;
  token: string;
  [field: string]: unknown;
}>;

/** What an agent says to the service about jobs. */
export function agentTalk(app: Pick<TestApp, "send" | "post" | "put">, agentToken: string) {
  const poll = (over: Readonly<Record<string, unknown>> = {}): Promise<Answer> =>
    app.post("/api/v4/jobs/request", {
      body: { token: agentToken, system_id: "s_1", info, ...over },
      headers: { "runner-token": agentToken },
    });

  const put = (job: TakenJob, body: Readonly<Record<string, unknown>>, token = job.token) =>
    app.put(`/api/v4/jobs/${job.id}`, {
      body: { token, info, output: {}, ...body },
      headers: { "job-token": token },
    });

  async function take(): Promise<TakenJob> {
    const answer = await poll();
    expect(answer.status, answer.text).to.equal(201);
    return answer.body as TakenJob;
  }

  async function begin(): Promise<TakenJob> {
    const job = await take();
    const answer = await put(job, { state: "running" });
    expect(answer.status, answer.text).to.equal(200);
    return job;
  }

  function patch(job: TakenJob, first: number, data: string | Buffer, range?: string) {
    const bytes = Buffer.from(data);
    return app.send("PATCH", `/api/v4/jobs/${job.id}/trace?debug_trace=false`, {
      body: new Uint8Array(bytes),
      headers: {
        "content-type": "text/plain",
        "job-token": job.token,
        "content-range": range ?? `${first}-${first + bytes.length - 1}`,
      },
    });
  }

  return { poll, put, take, begin, patch };
}

/** Uploads a file of a job as agents do. @param query its type and format */
export async function uploadFile(
  app: Pick<TestApp, "url">,
  job: TakenJob,
  { query, name, content }: Readonly<{ query: string; name: string; content: Uint8Array }>,
): Promise<Response> {
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(content)]), name);
  const url = `${app.url}/api/v4/jobs/${job.id}/artifacts?${query}`;
  return fetch(url, { method: "POST", headers: { "job-token": job.token }, body: form });
}

/** Waits for a job until one is queued, or the signal aborts. */
export async function heldPoll(
  app: Pick<TestApp, "url">,
  agentToken: string,
  signal: AbortSignal,
): Promise<TakenJob> {
  const response = await fetch(`${app.url}/api/v4/jobs/request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: agentToken, info }),
    signal,
  });
  return response.json() as Promise<TakenJob>;
}

/** Counts the requests that begin to wait for a job. */
export function countHeldPolls({ onChange }: Pick<TestApp["deps"], "onChange">) {
  const waiting = waitingFor(onChange);
  const { next } = waiting;
  let held = 0;
  const counted: typeof next = (...args) => {
    held += 1;
    return next(...args);
  };
  Object.assign(waiting, { next: counted });
  return { count: () => held, end: () => Object.assign(waiting, { next }) };
}
