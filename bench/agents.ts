import type { BenchService } from "./service.ts";

export type Taken = Readonly<{ id: number; token: string }>;

/** One agent, as it speaks to the service; what it runs takes no time. */
export type BenchAgent = Readonly<{
  /** Waits for a job; undefined when the service had none for as long as it holds a poll. */
  poll: (signal?: AbortSignal) => Promise<Taken | undefined>;
  put: (job: Taken, state: "running" | "success", bytesize?: number) => Promise<void>;
  patch: (job: Taken, first: number, data: Uint8Array) => Promise<void>;
}>;

const features = {
  ...{ variables: true, artifacts: true, upload_multiple_artifacts: true, refspecs: true },
  ...{ return_exit_code: true, cancelable: true, multi_build_steps: true },
};
const info = { name: "bench", version: "1", executor: "shell", features };

/** Registers an agent with a project. */
export async function agentOf(
  { service, authorization }: BenchService,
  project: string,
): Promise<BenchAgent> {
  const api = `${service.url}/api/v4`;
  const at = `${service.url}/project/bench/${project}/runners/registration-info`;
  const shown = await answered(await fetch(at, { headers: { authorization } }), 200);
  const registration = { token: shown["registrationToken"], run_untagged: true, info };
  const registered = await answered(await send("POST", `${api}/runners`, registration), 201);
  const token = String(registered["token"]);
  return {
    async poll(signal) {
      const body = { token, system_id: "s_bench", info };
      const answer = await send("POST", `${api}/jobs/request`, body, { signal });
      if (answer.status === 201) return (await answer.json()) as Taken;
      await answered(answer, 204);
      return undefined;
    },
    async put(job, state, bytesize = 0) {
      const body = { token: job.token, state, info, output: { bytesize } };
      await answered(await send("PUT", `${api}/jobs/${job.id}`, body), 200);
    },
    async patch(job, first, data) {
      const answer = await fetch(`${api}/jobs/${job.id}/trace`, {
        method: "PATCH",
        headers: {
          "job-token": job.token,
          "content-type": "text/plain",
          "content-range": `${first}-${first + data.length - 1}`,
        },
        body: data as Uint8Array<ArrayBuffer>,
      });
      await answered(answer, 202);
    },
  };
}

function send(
  method: string,
  url: string,
  body: object,
  more: Readonly<{ signal?: AbortSignal | undefined }> = {},
): Promise<Response> {
  const headers = { "content-type": "application/json" };
  const { signal = null } = more;
  return fetch(url, { method, headers, body: JSON.stringify(body), signal });
}

async function answered(
  answer: Response,
  status: number,
): Promise<Readonly<Record<string, unknown>>> {
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${answer.url}: ${answer.status} ${text}`);
  return text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
}

/** Starts a pipeline by a request and answers it. */
export async function startPipeline(
  { service, authorization }: BenchService,
  project: string,
): Promise<Readonly<Record<string, unknown>>> {
  const headers = { authorization, "content-type": "application/json" };
  const at = `${service.url}/project/bench/${project}/cicd/pipeline/start`;
  return answered(await fetch(at, { method: "POST", headers, body: "{}" }), 200);
}

/** Puts the file of the pipeline into a project, without a pipeline of that commit. */
export async function addPipelineFile(
  { service, authorization }: BenchService,
  project: string,
  content: string,
): Promise<void> {
  const action = { action: "CREATE", path: ".forge-ci.yaml", content };
  const body = { branch: "main", message: "Add [skip ci]", actions: [action] };
  const headers = { authorization, "content-type": "application/json" };
  const at = `${service.url}/project/bench/${project}/commit`;
  await answered(await fetch(at, { method: "POST", headers, body: JSON.stringify(body) }), 200);
}
