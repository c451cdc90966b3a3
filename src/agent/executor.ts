import { randomUUID } from "node:crypto";
import { access, realpath } from "node:fs/promises";
import { userInfo } from "node:os";
import path from "node:path";

import { ConfigError, inheritedEnvironment } from "../config.ts";
import { timeoutSignal } from "../platform/time/timeout-signal.ts";
import type { ExecutorName, PullPolicy } from "./config.ts";
import { containers } from "./container.ts";
import { findProgram, pathDefault } from "./container-engine.ts";
import type { Executor } from "./executor-contract.ts";
import { runMark, runToEnd } from "./processes.ts";
import { seenBuilds, type Workplace } from "./workplace.ts";

type Opening = Readonly<{
  /** Further directories that jobs in a sandbox see. */
  readable: readonly string[];
  /** Directories that they do not see, wherever these lie; some may not be there. */
  hidden: readonly string[];
  /** What jobs in containers may choose. */
  pullPolicies: readonly PullPolicy[];
}>;

/** @throws ConfigError when the machine lacks what the executor needs */
export async function openExecutor(
  name: ExecutorName,
  { readable, hidden, pullPolicies }: Opening,
): Promise<Executor> {
  switch (name) {
    case "shell":
      await mustFind("bash", name);
      return shell;
    case "bubblewrap":
      return openSandbox(readable, hidden);
    case "docker": {
      const sandbox = await openSandbox(readable, hidden).catch((error: unknown) => {
        if (error instanceof ConfigError) return undefined;
        throw error;
      });
      return containers({ sandbox, pullPolicies });
    }
  }
}

async function mustFind(program: string, executor: ExecutorName): Promise<string> {
  const file = await findProgram(program);
  if (file !== undefined) return file;
  const hint = executor === "shell" ? "" : " Install it, or use --executor shell (no isolation).";
  throw new ConfigError(`The executor ${executor} needs ${program}.${hint}`);
}

async function openSandbox(
  readable: readonly string[],
  hidden: readonly string[],
): Promise<Executor> {
  await mustFind("bwrap", "bubblewrap");
  const sandbox = await bubblewrap(readable, hidden);
  await mustWork(sandbox);
  return sandbox;
}

const probeMs = 10_000;

/** Containers without the right to make namespaces have the program, but cannot use it. */
async function mustWork(sandbox: Executor): Promise<void> {
  const command = sandbox.command(nowhere, "/dev/null");
  const output: Buffer[] = [];
  const onOutput = (data: Buffer) => output.push(data);
  const ended = await runToEnd(command, { onOutput, signal: timeoutSignal(probeMs) });
  if (ended.code === 0) return;
  const outputText = Buffer.concat(output).toString().trim();
  throw new ConfigError(
    `bubblewrap cannot make a sandbox here (${outputText}). Allow user namespaces, or use --executor shell.`,
  );
}

const nowhere: Workplace = {
  ...{ root: "/", builds: "/usr", project: "/usr", temporary: "/", home: "/", scripts: "/usr" },
  seen: {
    ...{ builds: seenBuilds, project: seenBuilds, temporary: seenBuilds, home: seenBuilds },
    scripts: `${seenBuilds}.scripts`,
  },
  mark: `probe-${randomUUID()}`,
};

export const shell: Executor = {
  name: "shell",
  isolated: false,
  git: "with the job",
  command: ({ project, home, mark }, script) => {
    const { PATH = pathDefault, LANG = "C.UTF-8" } = inheritedEnvironment();
    const { username } = userInfo();
    const env = { PATH, LANG, HOME: home, USER: username, LOGNAME: username, [runMark]: mark };
    return { program: "bash", args: ["--noprofile", "--norc", script], cwd: project, env };
  },
  clean: async () => undefined,
};

/** What programs need of `/etc`; nothing of it is secret. */
const readableEtc = [
  ...["alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "gai.conf", "group"],
  ...["hostname", "hosts", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"],
  ...["magic", "mime.types", "nsswitch.conf", "passwd", "pki", "protocols", "python3"],
  ...["resolv.conf", "services", "ssl", "timezone", "crypto-policies", "profile", "bash.bashrc"],
].map((name) => `/etc/${name}`);

/** The program that runs this agent, for jobs that need Node.js; and what is installed by hand. */
const readableElsewhere = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"];

/**
 * Arguments that put an empty directory over each hidden one that a bind shows. They stand behind the
 * binds, and before what the sandbox shows of the job itself.
 */
export async function coversOf(
  binds: readonly string[],
  hidden: readonly string[],
): Promise<readonly string[]> {
  const real = (each: string): Promise<string | undefined> => realpath(each).catch(() => undefined);
  const covered = new Set<string>();
  for (const bind of binds) {
    const source = await real(bind);
    for (const each of hidden) {
      const place = await real(each);
      if (source === undefined || place === undefined) continue;
      const below = path.relative(source, place);
      if (below !== ".." && !below.startsWith("../")) covered.add(path.join(bind, below));
    }
  }
  return [...covered].sort().flatMap((each) => ["--tmpfs", each]);
}

async function bubblewrap(
  readable: readonly string[],
  hidden: readonly string[],
): Promise<Executor> {
  const program = await mustFind("bwrap", "bubblewrap");
  for (const each of readable) {
    if (!path.isAbsolute(each)) throw new ConfigError(`${each} is not an absolute path.`);
    await access(each).catch(() => {
      throw new ConfigError(`${each} cannot be read.`);
    });
  }
  const binds = ["/usr", ...readableElsewhere, ...readableEtc, ...readable];
  const covers = await coversOf(binds, hidden);
  const user = 1_000;
  return {
    name: "bubblewrap",
    isolated: true,
    git: "with the job",
    command: ({ builds, scripts, seen, mark }, script) => ({
      program,
      args: [
        ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
        ...["--unshare-cgroup-try", "--disable-userns", "--cap-drop", "ALL"],
        ...["--die-with-parent", "--new-session", "--hostname", "agent", "--info-fd", "3"],
        ...["--uid", String(user), "--gid", String(user)],
        ...binds.flatMap((each) => ["--ro-bind-try", each, each]),
        ...covers,
        ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var/tmp"],
        ...["--bind", builds, seen.builds, "--ro-bind", scripts, seen.scripts],
        ...["--chdir", seen.project],
        ...["--", "bash", "--noprofile", "--norc", script],
      ],
      cwd: "/",
      env: {
        ...{ PATH: pathDefault, LANG: "C.UTF-8", HOME: seen.home, SHELL: "/bin/bash" },
        ...{ USER: "job", LOGNAME: "job", [runMark]: mark },
      },
      hasInfo: true,
    }),
    clean: async () => undefined,
  };
}
