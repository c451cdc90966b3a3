import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { timeoutSignal } from "../platform/time/timeout-signal.ts";
import type { PullPolicy } from "./config.ts";
import { type Engine, openEngine } from "./container-engine.ts";
import { passedOf, passing } from "./container-environment.ts";
import {
  authsOf,
  checkedImageName,
  type Image,
  type Logins,
  loginsIn,
  readyImage,
  type Wanted,
} from "./container-image.ts";
import { awaitService, hostNamesOf, portOf, type Service } from "./container-service.ts";
import type { Executor, Preparing } from "./executor-contract.ts";
import { JobFailure, type JobImage, type JobService } from "./job.ts";
import { quoted } from "./script.ts";
import { seenBuilds, type Workplace } from "./workplace.ts";

type Marked = Pick<Workplace, "mark">;

const imageDefault = "debian:stable-slim";
/**
 * For what a new container copies from its image: all of it with some storage drivers, else that of its volumes. A job
 * does not wait longer.
 */
const makeMsDefault = 10 * 60_000;
/** For an image's `chown` of all that its containers made. */
const takeBackMs = 10 * 60_000;
/** So long the engine may take until the client, whose job has failed, is ended as well. */
const lateMs = 60 * 60_000;
const runLabel = "ledgerforge.run";
const agentLabel = "ledgerforge.agent";

type Settings = Readonly<{
  pullPolicies: readonly PullPolicy[];
  /** Runs git for the job; undefined where there is none. */
  sandbox: Executor | undefined;
  engine?: Engine;
  /** For tests; see makeMsDefault. */
  makeMs?: number;
}>;

/**
 * Runs the scripts of a job in one container of its image, which is started again for each, beside containers of its
 * services. The engine keeps what it is given with the container: secrets are in the script, which the container sees
 * as a file.
 *
 * @throws ConfigError when no engine can be used
 */
export async function containers(settings: Settings): Promise<Executor> {
  const { engine = await openEngine() } = settings;
  const unprepared = (): never => {
    throw new Error("The container of the job is not there yet.");
  };
  const executor: Executor = {
    name: "docker",
    isolated: true,
    git: settings.sandbox,
    command: unprepared,
    clean: async () => undefined,
    prepare: async (of) => ({ ...executor, ...(await prepared(engine, settings, of)) }),
    remove: (place) => remove(engine, labelOf(place)),
    removeAll: (systemId) => remove(engine, `${agentLabel}=${systemId}`),
  };
  return executor;
}

const nameOf = ({ mark }: Marked): string => `ledgerforge-${mark.replaceAll(/[^\w]/g, "-")}`;

const labelOf = ({ mark }: Marked): string => `${runLabel}=${mark}`;

const labelsOf = ({ mark }: Marked): readonly string[] => [
  ...["--label", labelOf({ mark })],
  ...["--label", `${agentLabel}=${mark.slice(0, mark.indexOf(":"))}`],
];

/**
 * Removes containers, with what they wrote, and networks.
 *
 * @throws Error unless no container is left: what a live one does to files would mislead the agent
 */
async function remove(engine: Engine, label: string): Promise<void> {
  const found = await listed(engine, ["ps", "--all"], label);
  if (engine.owner !== undefined) for (const each of found) await takeBack(engine, each);
  await removeLabelled(engine, label);
  const remaining = await listed(engine, ["ps", "--all"], label);
  if (remaining.length > 0)
    throw new Error(`Containers could not be removed: ${remaining.join(", ")}`);
}

async function removeLabelled(engine: Engine, label: string): Promise<void> {
  const all = await listed(engine, ["ps", "--all"], label);
  if (all.length > 0) await engine.call(["rm", "--force", "--volumes", "--", ...all]);
  const networks = await listed(engine, ["network", "ls"], label);
  if (networks.length > 0) await engine.call(["network", "rm", "--", ...networks]);
}

async function listed(
  engine: Engine,
  args: readonly string[],
  label: string,
): Promise<readonly string[]> {
  const filter = ["--quiet", "--filter", `label=${label}`];
  const { code, output, problem } = await engine.call([...args, ...filter]);
  if (code !== 0) throw new Error(`Containers could not be listed: ${problem}`);
  return output.split("\n").filter(Boolean);
}

/**
 * Files that a container made belong to its user: gives them to the agent, which reads and removes them. The image is
 * the job's, so the container that does it is removed with those of the job.
 */
async function takeBack(engine: Engine, container: string): Promise<void> {
  const of = `{{.Image}} {{index .Config.Labels "${runLabel}"}}{{range .Mounts}}{{if eq .Destination "${seenBuilds}"}} {{.Source}}{{end}}{{end}}`;
  const found = await engine.call(["container", "inspect", "--format", of, "--", container]);
  const [, image = "", mark = "", builds] = /^(\S+) (\S+)(?: (.+))?$/.exec(found.output) ?? [];
  if (builds === undefined) return;
  await engine.call(stopOf(container));
  const bounds = [...labelsOf({ mark }), ...limits, ...unlogged];
  const as = [...bounds, "--user", "0:0", "--network", "none", "--entrypoint", "chown"];
  const view = ["--volume", `${builds}:${seenBuilds}`];
  const chown = ["-R", "-h", `${engine.owner}`, seenBuilds];
  const signal = timeoutSignal(takeBackMs);
  await engine.call(["run", "--rm", ...as, ...view, "--", image, ...chown], { signal });
}

type Prepared = Pick<Executor, "command" | "clean" | "mustHaveRun" | "handOver">;

async function prepared(engine: Engine, settings: Settings, of: Preparing): Promise<Prepared> {
  const { place, job, environment } = of;
  const auths = authsOf(job, environment.values.get("DOCKER_AUTH_CONFIG"));
  const logins = await loginsIn(path.join(place.root, "logins"), auths, engine);
  const starting: Starting = { ...of, engine, settings, logins };
  const fields = fieldsOf(job.image ?? { ...noFields, name: imageDefault }, starting);
  const services = job.services.map((service) => ({ service, of: fieldsOf(service, starting) }));
  const image = await imageOf(fields, starting);
  await makeNetwork(starting);
  await startServices(services, starting);
  const container = nameOf(place);
  const begun = await newMark(place);
  const args = [
    ...["create", "--name", container, ...labelsOf(place), "--network", container],
    ...[...limits, ...unlogged],
    ...["--volume", `${place.builds}:${place.seen.builds}`],
    ...["--volume", `${place.scripts}:${place.seen.scripts}:ro`],
    ...["--volume", `${begun}:${seenBegun}`],
    ...runOf(fields, image, ["sh", "-c", startOf(place)]),
  ];
  await mustDo(starting, args, { what: "The container of the job" });
  await rm(path.join(place.root, "logins"), { recursive: true, force: true });
  const user = fields.user ?? image.user;
  let hasBegun = false;
  return {
    command: () => ({
      program: engine.program,
      args: ["start", "--attach", "--", container],
      cwd: "/",
      env: engine.env,
      terminate: () => engine.call(["exec", container, "sh", "-c", terminate]),
    }),
    async clean() {
      await engine.call(stopOf(container));
    },
    async mustHaveRun(code) {
      hasBegun ||= (await stat(begun)).size > 0;
      if (!hasBegun) throw notBegun(code);
    },
    handOver: () => handOver(place, user),
  };
}

type Starting = Preparing & Readonly<{ engine: Engine; settings: Settings; logins: Logins }>;

const limits = ["--security-opt", "no-new-privileges", "--stop-timeout", "0"];
/** Its output goes to the agent alone. */
const unlogged = ["--log-driver", "none"];
const stopOf = (container: string): readonly string[] => ["stop", "--time", "0", "--", container];
const noFields = { entrypoint: null, pull_policy: [], executor_opts: null };

/** What a job gives of an image, expanded. */
type Fields = Wanted &
  Readonly<{ entrypoint: readonly string[] | undefined; user: string | undefined }>;

/** @throws JobFailure */
function fieldsOf(image: JobImage, { settings, environment: { expand } }: Starting): Fields {
  const { platform, user } = image.executor_opts?.docker ?? {};
  return {
    name: checkedImageName(expand(image.name)),
    policies: policiesOf(image.pull_policy, settings.pullPolicies),
    entrypoint: image.entrypoint ?? undefined,
    // Variables that are not set leave none.
    user: expand(user ?? "") || undefined,
    platform: expand(platform ?? "") || undefined,
  };
}

function imageOf(of: Fields, { engine, logins, signal, log }: Starting): Promise<Image> {
  return readyImage(of, { engine, logins, signal, write: (text) => log.write(text) });
}

/** @throws JobFailure for one that the agent does not allow */
function policiesOf(
  wanted: readonly string[],
  allowed: readonly PullPolicy[],
): readonly PullPolicy[] {
  const allowedPolicies = wanted.map((each) => {
    const policy = allowed.find((one) => one === each);
    if (policy !== undefined) return policy;
    const message = `pull_policy ${each} is not allowed by this agent, which allows ${allowed.join(", ")}.`;
    throw new JobFailure("runner_configuration_error", message);
  });
  return allowedPolicies.length === 0 ? allowed.slice(0, 1) : allowedPolicies;
}

/** Options, image and command. Options take one word: further words of the entrypoint precede the command. */
function runOf(of: Fields, image: Image, command: readonly string[]): readonly string[] {
  const [entrypoint = "", ...words] = of.entrypoint ?? [];
  return [
    ...(of.entrypoint === undefined ? [] : ["--entrypoint", entrypoint]),
    ...(of.user === undefined ? [] : ["--user", of.user]),
    ...(of.platform === undefined ? [] : ["--platform", of.platform]),
    ...["--", image.id, ...words, ...command],
  ];
}

type WantedService = Readonly<{ service: JobService; of: Fields }>;

/** Every job has its own, also one without services: others would reach it in the default network. */
async function makeNetwork(starting: Starting): Promise<void> {
  const { place, engine } = starting;
  const args = ["network", "create", ...labelsOf(place), ...engine.networks, nameOf(place)];
  await mustDo(starting, args, { what: "The network of the job" });
}

async function startServices(wanted: readonly WantedService[], starting: Starting): Promise<void> {
  const { engine, signal, log } = starting;
  const services: Service[] = [];
  for (const each of wanted) services.push(await startService(each, starting));
  const warn = (text: string): void => log.warn(text);
  await Promise.all(services.map((each) => awaitService(each, { engine, signal, warn })));
}

async function startService({ service, of }: WantedService, starting: Starting): Promise<Service> {
  const { place, environment, engine, log } = starting;
  const image = await imageOf(of, starting);
  const { name } = of;
  const names = hostNamesOf(name, environment.expand(service.alias));
  log.write(`Starting service ${name} as ${names.join(", ")}\n`);
  const passed = passedOf(variablesOf(service, starting));
  for (const each of passed.omitted) log.warn(leftText(each, name));
  const what = `The service ${name}`;
  const container = await passing(passed, place.root, (options) => {
    const args = [
      ...["create", ...labelsOf(place), "--network", nameOf(place), ...limits, ...options],
      ...names.flatMap((each) => ["--network-alias", each]),
      ...runOf(of, image, service.command),
    ];
    return mustDo(starting, args, { what, env: passed.environment });
  });
  // What starts programs on this machine has nothing of the job in its environment.
  await mustDo(starting, ["start", "--", container], { what });
  const format = "{{range $port, $_ := .Config.ExposedPorts}}{{$port}} {{end}}";
  const declared = await engine.call(["image", "inspect", "--format", format, "--", image.id]);
  return { name, container, port: portOf(service, declared.output.split(" ")) };
}

const leftText = (variable: string, service: string): string =>
  `${variable} is not given to the service ${service}: programs of this machine may read a variable of this name, ` +
  "so its value may not have several lines, quotes, \\, #, $, `, a space at its ends or letters beyond ASCII.";

/** Secrets are left out: the engine shows these variables. */
function variablesOf(
  { variables }: JobService,
  { job, environment: { values, expand } }: Starting,
): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (const { key, public: isPublic, file } of job.variables) {
    if (isPublic && !file) all.set(key, values.get(key) ?? "");
    else all.delete(key);
  }
  for (const { key, value, raw } of variables) all.set(key, raw ? value : expand(value));
  const isName = /^[A-Za-z_]\w*$/;
  return new Map([...all].filter(([key]) => isName.test(key)));
}

type Doing = Readonly<{
  what: string;
  env?: Readonly<Record<string, string>>;
}>;

/**
 * Lets a client that makes something end by itself when the job is canceled: its engine may go on without it, and what
 * it makes would be missed by the removal of all that is left. What is made too late for the job is removed then.
 *
 * @returns the last line of the output
 */
async function mustDo(
  { engine, settings, place, signal }: Starting,
  args: readonly string[],
  { what, env = {} }: Doing,
): Promise<string> {
  const { makeMs = makeMsDefault } = settings;
  const making = engine.call(args, { env, signal: timeoutSignal(lateMs) });
  const result = await within(makeMs, making);
  if (result === undefined)
    void making.then(() => removeLabelled(engine, labelOf(place))).catch(ignore);
  signal.throwIfAborted();
  if (result?.code === 0) return result.output.split("\n").at(-1) ?? "";
  const problem = result?.problem ?? `the engine takes longer than ${makeMs / 1_000} s`;
  throw new JobFailure("runner_system_failure", `${what} could not be started: ${problem}`);
}

/** At its next start, an agent removes what is left then. */
const ignore = (): void => undefined;

/** @returns undefined when it takes longer */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result | undefined> {
  const ended = new AbortController();
  try {
    return await Promise.race([work, delay(ms, undefined, { signal: ended.signal })]);
  } finally {
    ended.abort();
  }
}

/** Where a script of the job writes that it has begun. The job may change it: it decides about its own end alone. */
const seenBegun = `${seenBuilds}.begun`;

/** A file that the user of a container may write to, and not remove: other users cannot reach its directory. */
async function newMark({ root }: Workplace): Promise<string> {
  const file = path.join(root, "begun");
  await writeFile(file, "", { flag: "wx" });
  await chmod(file, 0o666);
  return file;
}

/**
 * Runs the one script that is there. The first process of a container is not its shell, which would ignore
 * SIGTERM there.
 */
function startOf({ seen }: Workplace): string {
  return [
    `echo > ${quoted(seenBegun)}`,
    `for script in ${quoted(seen.scripts)}/*.sh; do :; done`,
    'if command -v bash >/dev/null; then bash "$script"; else sh "$script"; fi',
    'exit "$?"',
  ].join("\n");
}

/** To all processes of the container; the second one to its first process, which the first leaves out. */
const terminate = "kill -TERM -1; kill -TERM 1";

function notBegun(code: number | null): JobFailure {
  if (code !== 0) {
    return new JobFailure("runner_system_failure", "the container of the job did not start");
  }
  const message =
    'the entrypoint of the image ended without running the script; entrypoint: [""] leaves it out';
  return new JobFailure("script_failure", message, 1);
}

/** Lets users other than root work with what the agent made. Nothing of the job has run in the container yet. */
async function handOver({ builds, scripts }: Workplace, user: string): Promise<void> {
  await chmod(scripts, 0o755);
  if (/^(?:root|0)?(?::.*)?$/.test(user)) return;
  const args = ["-R", "a+rwX", "--", builds];
  await once(spawn("chmod", args, { stdio: "ignore" }), "close");
}
