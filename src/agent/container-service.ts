import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import type { Engine } from "./container-engine.ts";
import type { JobService } from "./job.ts";

/** A service of a job whose container runs. */
export type Service = Readonly<{ name: string; container: string; port: number | undefined }>;

/**
 * The host names of a service: those that its alias lists, and two that its image gives it. `registry:5000/a/b:1` is
 * `registry__a__b` and `registry-a-b`.
 */
export function hostNamesOf(image: string, alias: string): readonly string[] {
  const [reference = ""] = image.split("@", 1);
  const path = reference.replace(/:[^/:]*$/, "").replace(/:\d+\//, "/");
  const own = alias.split(/[,\s]+/).filter((name) => /^[a-z\d_][\w.-]*$/i.test(name));
  return [...new Set([...own, path.replaceAll("/", "__"), path.replaceAll("/", "-")])];
}

/** `HEALTHCHECK_TCP_PORT`, or the lowest port that the image declares. */
export function portOf(
  { variables }: Pick<JobService, "variables">,
  declared: readonly string[],
): number | undefined {
  const wanted = variables.findLast(({ key }) => key === "HEALTHCHECK_TCP_PORT")?.value;
  const declaredTcp = declared
    .filter((port) => port.endsWith("/tcp"))
    .map((port) => parseInt(port, 10));
  const port = wanted === undefined ? Math.min(...declaredTcp) : Number(wanted);
  return Number.isInteger(port) ? port : undefined;
}

const waitMs = 30_000;
const pauseMs = 100;

type Waiting = Readonly<{ engine: Engine; signal: AbortSignal; warn: (text: string) => void }>;

/** Waits until a service listens. One that does not is named in the log; the job goes on, as with gitlab-runner. */
export async function awaitService(service: Service, waiting: Waiting): Promise<void> {
  const { engine, signal, warn } = waiting;
  const { name, container, port } = service;
  const until = Date.now() + waitMs;
  while (Date.now() < until) {
    signal.throwIfAborted();
    const format = "{{.State.Running}} {{.State.Pid}}";
    const args = ["container", "inspect", "--format", format, "--", container];
    const [isRunning = "", pid = ""] = (await engine.call(args, { signal })).output.split(" ");
    if (isRunning !== "true") {
      const { output, problem } = await engine.call(["logs", "--tail", "20", "--", container]);
      return warn(`The service ${name} has ended:\n${[output, problem].join("\n").trim()}`);
    }
    if (port === undefined || (await listens(pid, port)) !== false) return;
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  warn(`The service ${name} does not listen on port ${port} after ${waitMs / 1_000} s.`);
}

/** @returns undefined where the processes of the engine are not those of this machine */
async function listens(pid: string, port: number): Promise<boolean | undefined> {
  const read = (name: string): Promise<string | undefined> =>
    readFile(`/proc/${Number(pid)}/net/${name}`, "utf8").catch(() => undefined);
  const tables = await Promise.all([read("tcp"), read("tcp6")]);
  if (tables[0] === undefined) return undefined;
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const isListening = (line: string): boolean => {
    const [, local = "", , state] = line.trim().split(/\s+/);
    return state === "0A" && local.endsWith(end);
  };
  return tables.some((table) => table?.split("\n").some(isListening));
}
