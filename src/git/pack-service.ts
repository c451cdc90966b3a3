import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { Duplex, type Readable, type Writable } from "node:stream";

import { invariant } from "../platform/invariant.ts";
import { gitEnvironment, memoryLimit } from "./environment.ts";
import { archiveLimit, withinMemory } from "./memory-limit.ts";
import { shareProcessors } from "./priority.ts";
import { gateDescriptor, installGate, keepGate, type PushGate } from "./push/gate.ts";
import { held } from "./push/hold.ts";

/** The two programs behind fetch and push; see git-upload-pack(1) and git-receive-pack(1). */
export type PackService = "upload-pack" | "receive-pack";

export type PackProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** What it writes goes to another place than to us. */
export type UploadProcess = ChildProcessByStdio<Writable, null, Readable>;

export type PackOptions = Readonly<{
  /** Only advertise refs and capabilities: the answer to `info/refs`. */
  advertise: boolean;
  /** What the client sent as Git-Protocol, already checked: `version=2`. */
  protocol?: string | undefined;
  /** Branches move only forward: commits that they held are not lost. */
  denyForced?: boolean;
  /** Its refs are synced by the caller, all at once: it must do so before anybody relies on them. */
  together?: boolean;
  /** Largest pack that is taken in, when it is less than our common limit. */
  inputBytesMax?: number;
  /** Called before refs are changed; without it nothing is checked. */
  gate?: PushGate | undefined;
  /** Where the gate's hook is kept. */
  hooks?: string;
}>;

/** On SIGTERM git ends its own helpers; a git that has not ended after this is killed. */
const killAfterMs = 5_000;

/** Starts the program in its request-and-answer form (`--stateless-rpc`), the one HTTP uses. */
export function startPackService(
  gitDir: string,
  service: PackService,
  options: PackOptions,
): PackProcess {
  const { advertise, protocol, denyForced = false, inputBytesMax, gate, hooks } = options;
  const settings = [
    // What we set for every git, but for refs.
    ...(options.together === true ? ["-c", "core.fsync=objects,-reference"] : []),
    ...(denyForced ? ["-c", "receive.denyNonFastForwards=true"] : []),
    ...(inputBytesMax === undefined ? [] : ["-c", `receive.maxInputSize=${inputBytesMax}`]),
  ];
  if (gate !== undefined) {
    invariant(hooks !== undefined, "a gate has a place for its hook");
    installGate(hooks);
    settings.push("-c", `core.hooksPath=${hooks}`);
  }
  const args = [
    ...settings,
    service,
    "--stateless-rpc",
    ...(advertise ? ["--advertise-refs"] : []),
    gitDir,
  ];
  // Not for what is sent: the list of a large repository's objects may be larger.
  const limits = service === "receive-pack" ? memoryLimit : {};
  const takesIn = service === "receive-pack" && !advertise;
  const [program, all] = takesIn ? held(gitDir, "pushing", args) : (["git", args] as const);
  const child = start(program, all, protocol, { limits, gated: gate !== undefined });
  const line: unknown = child.stdio[gateDescriptor];
  if (gate !== undefined && line instanceof Duplex) keepGate(line, gitDir, gate);
  return child;
}

/** Programs that talk to a client until one of them ends, as over SSH; see git-upload-archive(1). */
export type TalkingService = "upload-pack" | "upload-archive";

/** Starts the program in the form in which both sides talk. @param protocol as in `PackOptions` */
export function startTalkingService(
  gitDir: string,
  service: TalkingService,
  protocol: string | undefined,
): PackProcess {
  if (service === "upload-pack") return start("git", [service, "--strict", gitDir], protocol);
  const [program, args] = withinMemory([service, gitDir]);
  return start(program, args, protocol, { limits: archiveLimit });
}

/**
 * Starts upload-pack in its request-and-answer form.
 *
 * @param output where it writes its answer: a socket, or the descriptor of a file
 * @param protocol as in `PackOptions`
 */
export function startUploadPack(
  gitDir: string,
  output: Socket | number,
  protocol: string | undefined,
): UploadProcess {
  const args = ["upload-pack", "--stateless-rpc", gitDir];
  const child = start("git", args, protocol, { output }) as ChildProcess as UploadProcess;
  // Git may end without reading all of it: what it printed is still the answer.
  child.stdin.on("error", () => undefined);
  return child;
}

type Started = Readonly<{
  limits: Readonly<Record<string, string>>;
  gated: boolean;
  output: Socket | number | "pipe";
}>;

function start(
  program: string,
  args: readonly string[],
  protocol: string | undefined,
  { limits = {}, gated = false, output = "pipe" }: Partial<Started> = {},
): PackProcess {
  const env = { ...(protocol === undefined ? {} : { GIT_PROTOCOL: protocol }), ...limits };
  const child = spawn(program, args, {
    cwd: "/",
    env: gitEnvironment(env),
    // The fourth is the gate's line; the hook inherits it.
    stdio: ["pipe", output, "pipe", gated ? "pipe" : "ignore"],
  }) as PackProcess;
  shareProcessors(child);
  // A program that cannot be started closes at once: callers receive "close".
  child.on("error", () => undefined);
  return child;
}

/** What a client may send as Git-Protocol, `version=2`; anything else would be a variable of a child. */
export const isProtocolText = (text: string): boolean => /^[a-z0-9=:-]{1,64}$/.test(text);

/** Ends the program and, through the end of its input, the helpers it started. */
export function stopPackService(child: PackProcess | UploadProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin.destroy();
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  kill.unref();
  child.once("close", () => clearTimeout(kill));
}
