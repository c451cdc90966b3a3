import { constants } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import path from "node:path";

import { ConfigError, inheritedEnvironment } from "../config.ts";
import { isThere } from "../platform/if-there.ts";
import { timeoutSignal } from "../platform/time/timeout-signal.ts";
import { type Ended, runToEnd } from "./processes.ts";

export const pathDefault = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A program for containers: `docker`, or `podman`, whose commands are the same. */
export type Engine = Readonly<{
  program: string;
  env: Readonly<Record<string, string>>;
  /** Whom files of the agent belong to, as containers name that user; undefined for root, who has every file. */
  owner: string | undefined;
  /** Options of networks, whose containers reach none of another one. */
  networks: readonly string[];
  /** Runs one of its commands to the end. */
  call: (args: readonly string[], options?: CallOptions) => Promise<Called>;
}>;

type CallOptions = Readonly<{ signal?: AbortSignal; env?: Readonly<Record<string, string>> }>;

export type Called = Ended & Readonly<{ output: string; problem: string }>;

const engineNames = ["docker", "podman"];
const callMs = 60_000;
const textBytesMax = 64 * 1024;

/** What chooses and configures an engine; nothing else of this environment reaches it. */
const ofEngines =
  /^(?:(?:DOCKER|CONTAINERS?|STORAGE|REGISTRY|XDG|DBUS)_\w+|https?_proxy|no_proxy|TMPDIR|SSH_AUTH_SOCK)$/i;

/**
 * The first engine that answers.
 *
 * @throws ConfigError when none does
 */
export async function openEngine(): Promise<Engine> {
  const problems: string[] = [];
  for (const name of engineNames) {
    const program = await findProgram(name);
    if (program === undefined) continue;
    const engine = engineOf(program);
    const { code, output, problem } = await engine.call(["info", "--format", "{{json .}}"]);
    if (code === 0) {
      return { ...engine, owner: ownerOf(output), networks: await networksOf(engine, output) };
    }
    problems.push(`${program}: ${problem}`);
  }
  const why = problems.length === 0 ? "" : ` (${problems.join("; ")})`;
  throw new ConfigError(
    `The executor docker needs docker or podman, and the right to use it${why}.`,
  );
}

/** @param about the engine, as JSON: docker and podman name differently that they run without root */
function ownerOf(about: string): string | undefined {
  const { uid, gid } = userInfo();
  if (uid === 0) return undefined;
  return /"rootless": ?true|"name=rootless"/.test(about) ? "0:0" : `${uid}:${gid}`;
}

/**
 * Networks of podman reach each other by default. Those of Docker do not, but only its default network has the
 * operator's MTU.
 *
 * @param about the engine, as JSON
 */
async function networksOf(engine: Engine, about: string): Promise<readonly string[]> {
  if (/"buildahVersion":/.test(about)) return ["--opt", "isolate=true"];
  const mtu = "com.docker.network.driver.mtu";
  const format = `{{index .Options "${mtu}"}}`;
  const found = await engine.call(["network", "inspect", "--format", format, "bridge"]);
  return /^\d+$/.test(found.output) ? ["--opt", `${mtu}=${found.output}`] : [];
}

export async function findProgram(name: string): Promise<string | undefined> {
  const { PATH = pathDefault } = inheritedEnvironment();
  for (const directory of PATH.split(":").filter(path.isAbsolute)) {
    const file = path.join(directory, name);
    if (await isThere(file, constants.X_OK)) return file;
  }
  return undefined;
}

function engineOf(program: string): Engine {
  const inherited = inheritedEnvironment();
  const env = {
    ...Object.fromEntries(
      Object.entries(inherited).flatMap(([key, value = ""]) =>
        ofEngines.test(key) ? [[key, value]] : [],
      ),
    ),
    ...{ PATH: inherited["PATH"] ?? pathDefault, HOME: homedir() },
  };
  return {
    ...{ program, env, owner: undefined, networks: [] },
    async call(args, { signal = timeoutSignal(callMs), env: more = {} } = {}) {
      const [out, error] = [new Start(), new Start()];
      const ended = await runToEnd(
        { program, args, cwd: "/", env: { ...env, ...more } },
        { onOutput: out.add, onError: error.add, signal, over: signal },
      );
      return { ...ended, output: out.text(), problem: error.text() };
    },
  };
}

/** As much of a text as is kept. */
class Start {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  readonly add = (data: Buffer): void => {
    if (this.#bytes < textBytesMax) this.#pieces.push(data);
    this.#bytes += data.length;
  };

  text(): string {
    return Buffer.concat(this.#pieces).subarray(0, textBytesMax).toString().trim();
  }
}
