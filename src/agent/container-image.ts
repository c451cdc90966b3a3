import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

import type { PullPolicy } from "./config.ts";
import type { Called, Engine } from "./container-engine.ts";
import { type Job, JobFailure } from "./job.ts";

export type Image = Readonly<{
  /** What containers are made of: a name may mean another image a moment later. */
  id: string;
  /** Who runs the programs of its containers; empty for root. */
  user: string;
}>;

/** Places other than registries that podman reads images from, as files of this machine. */
const transports =
  /^(?:atomic|containers-storage|dir|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|tarball):/;
/** Of an image that is there, no matter which job pulled it. */
const imageId = /^(?:sha256:)?[0-9a-f]{64}$/;
const lengthMax = 512;

/**
 * Accepts names of images in registries alone: no option of a program, and no file of this machine.
 *
 * @throws JobFailure
 */
export function checkedImageName(name: string): string {
  const [first = "", ...rest] = name.split("/");
  const host = rest.length === 0 ? "" : first;
  const isHost = /^(?:[\w.-]*|\[[a-f\d:]+\])(?::\d+)?$/i.test(host);
  const isName = /^[a-z\d[][\w.:/@[\]-]*$/i.test(name) && name.length <= lengthMax;
  const isOfMachine = transports.test(name) || imageId.test(name);
  if (isName && isHost && rest.every(Boolean) && !isOfMachine) return name;
  const quoted = JSON.stringify(name.slice(0, lengthMax));
  throw new JobFailure("runner_configuration_error", `${quoted} is not the name of an image.`);
}

const dockerHub = "docker.io";

export function registryOf(name: string): string {
  const [first = "", ...rest] = name.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  return isHost ? first : dockerHub;
}

type Auths = Readonly<Record<string, Readonly<{ auth: string }>>>;

const AuthConfig = z.object({
  auths: z.record(
    z.string(),
    z.object({
      auth: z.string().optional(),
      username: z.string().default(""),
      password: z.string().default(""),
    }),
  ),
});

const authOf = (username: string, password: string): string =>
  Buffer.from(`${username}:${password}`).toString("base64");

/**
 * What the job logs in to registries with: `DOCKER_AUTH_CONFIG`, then what the service gives each job. Helpers that
 * the variable names are not run.
 *
 * @throws JobFailure when the variable cannot be read
 */
export function authsOf({ credentials }: Pick<Job, "credentials">, configured = ""): Auths {
  const given = credentials
    .filter(({ type, url }) => type === "registry" && url !== "")
    .map(({ url, username, password }) => [url, { auth: authOf(username, password) }]);
  if (configured === "") return Object.fromEntries(given) as Auths;
  try {
    const { auths } = AuthConfig.parse(JSON.parse(configured));
    const own = Object.entries(auths).map(([key, { auth, username, password }]) => [
      key,
      { auth: auth ?? authOf(username, password) },
    ]);
    return Object.fromEntries([...given, ...own]) as Auths;
  } catch {
    const message = 'DOCKER_AUTH_CONFIG is not JSON such as {"auths": {"host": {"auth": "…"}}}.';
    throw new JobFailure("runner_configuration_error", message);
  }
}

/** `https://index.docker.io/v1/` is how Docker stores a login at its own registry. */
function hostOf(key: string): string {
  const [host = ""] = key.replace(/^https?:\/\//, "").split("/");
  return host === "index.docker.io" ? dockerHub : host;
}

export type Logins = (name: string) => Readonly<Record<string, string>>;

/**
 * Writes the logins of a job into a directory of its own.
 *
 * @returns variables of the engine for pulling an image; none where the job has no login at its registry, so
 *   that the login of the agent's user is used
 */
export async function loginsIn(directory: string, auths: Auths, engine: Engine): Promise<Logins> {
  if (Object.keys(auths).length === 0) return () => ({});
  await mkdir(directory, { mode: 0o700 });
  const { DOCKER_CONFIG: usual = path.join(engine.env["HOME"] ?? "/", ".docker") } = engine.env;
  const config = path.join(directory, "config.json");
  // The context says where docker finds its engine.
  const { currentContext } = await readContext(path.join(usual, "config.json"));
  const text = JSON.stringify({ auths, ...(currentContext && { currentContext }) });
  await writeFile(config, text, { mode: 0o600, flag: "wx" });
  await symlink(path.join(usual, "contexts"), path.join(directory, "contexts"));
  const hosts = new Set(Object.keys(auths).map(hostOf));
  const env = { DOCKER_CONFIG: directory, REGISTRY_AUTH_FILE: config };
  return (name) => (hosts.has(registryOf(name)) ? env : {});
}

const Context = z.object({ currentContext: z.string().optional() }).catch({});

const readContext = async (file: string): Promise<z.output<typeof Context>> =>
  Context.parse(
    await readFile(file, "utf8")
      .then(JSON.parse)
      .catch(() => ({})),
  );

export type Wanted = Readonly<{
  /** Checked. */
  name: string;
  /** In the order in which they are tried. */
  policies: readonly PullPolicy[];
  platform: string | undefined;
}>;

type Pulling = Readonly<{
  engine: Engine;
  logins: Logins;
  signal: AbortSignal;
  write: (text: string) => void;
}>;

/** @throws JobFailure when the image cannot be had */
export async function readyImage(wanted: Wanted, pulling: Pulling): Promise<Image> {
  const { name, policies } = wanted;
  let problem = "";
  for (const policy of policies) {
    const known = policy === "always" ? undefined : await findImage(name, pulling);
    if (known !== undefined) return known;
    if (policy === "never") problem = "it is not on the machine of the agent";
    else {
      const pulled = await pull(wanted, pulling);
      const found = pulled.code === 0 ? await findImage(name, pulling) : undefined;
      if (found !== undefined) return found;
      problem = pulled.problem || "it was not pulled";
    }
    pulling.signal.throwIfAborted();
  }
  throw new JobFailure("image_pull_failure", `the image ${name} cannot be had: ${problem}`);
}

function pull(
  { name, platform }: Wanted,
  { engine, logins, signal, write }: Pulling,
): Promise<Called> {
  write(`Pulling ${name}...\n`);
  const of = platform === undefined ? [] : ["--platform", platform];
  return engine.call(["pull", "--quiet", ...of, "--", name], { signal, env: logins(name) });
}

async function findImage(name: string, { engine, signal }: Pulling): Promise<Image | undefined> {
  const format = "{{.Id}} {{.Config.User}}";
  const found = await engine.call(["image", "inspect", "--format", format, "--", name], { signal });
  if (found.code !== 0) return undefined;
  const [id = "", user = ""] = found.output.split(" ");
  return { id, user };
}
