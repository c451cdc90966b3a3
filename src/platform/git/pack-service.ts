import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

import { gitEnvironment, memoryLimit } from "./environment.ts";

/** The two programs behind fetch and push; see git-upload-pack(1) and git-receive-pack(1). */
export type PackService = "upload-pack" | "receive-pack";

export type PackProcess = ChildProcessByStdio<Writable, Readable, Readable>;

export type PackOptions = Readonly<{
  /** Only tell the refs and capabilities: the answer to `info/refs`. */
  advertise: boolean;
  /** What the client sent as Git-Protocol, already checked: `version=2`. */
  protocol?: string | undefined;
  /** Branches move only forward: commits that they held are not lost. */
  denyForced?: boolean;
  /** Largest pack that is taken in, when it is less than our common limit. */
  inputBytesMax?: number;
}>;

/** Git kills its own helpers when it is told to end; one that does not end is killed after this. */
const killAfterMs = 5_000;

/** Starts the program in its request-and-answer form (`--stateless-rpc`), the one HTTP uses. */
export function startPackService(
  gitDir: string,
  service: PackService,
  { advertise, protocol, denyForced = false, inputBytesMax }: PackOptions,
): PackProcess {
  const settings = [
    ...(denyForced ? ["-c", "receive.denyNonFastForwards=true"] : []),
    ...(inputBytesMax === undefined ? [] : ["-c", `receive.maxInputSize=${inputBytesMax}`]),
  ];
  const args = [
    ...settings,
    service,
    "--stateless-rpc",
    ...(advertise ? ["--advertise-refs"] : []),
    gitDir,
  ];
  // Not for what is sent: the list of a large repository's objects may be larger.
  return startGit(args, protocol, service === "receive-pack" ? memoryLimit : {});
}

/** Programs that talk to a client until one of them ends, as over SSH; see git-upload-archive(1). */
export type TalkingService = "upload-pack" | "upload-archive";

/** Starts the program in the form in which both sides talk. @param protocol as in `PackOptions` */
export function startTalkingService(
  gitDir: string,
  service: TalkingService,
  protocol: string | undefined,
): PackProcess {
  const args = service === "upload-pack" ? [service, "--strict", gitDir] : [service, gitDir];
  return startGit(args, protocol);
}

function startGit(
  args: readonly string[],
  protocol: string | undefined,
  limits: Readonly<Record<string, string>> = {},
): PackProcess {
  const env = { ...(protocol === undefined ? {} : { GIT_PROTOCOL: protocol }), ...limits };
  const child = spawn("git", args, {
    cwd: "/",
    env: gitEnvironment(env),
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A program that cannot be started closes at once: callers hear of it by "close".
  child.on("error", () => undefined);
  return child;
}

/** What a client may send as Git-Protocol, `version=2`; anything else would be a variable of a child. */
export const isProtocolText = (text: string): boolean => /^[a-z0-9=:-]{1,64}$/.test(text);

/** Ends the program and, through the end of its input, the helpers it started. */
export function stopPackService(child: PackProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin.destroy();
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  kill.unref();
  child.once("close", () => clearTimeout(kill));
}
