import { type ConfigEntry, gitConfiguration } from "./git-configuration.ts";
import type { Job } from "./job.ts";
import { flagsOf, isFalse, isTrue } from "./job-settings.ts";
import { quoted } from "./script.ts";
import type { JobEnvironment } from "./variables.ts";

type Sources = Readonly<{
  /** Lines of a shell script. */
  lines: readonly string[];
  /** For these lines alone: the token is never written into the repository. */
  variables: ReadonlyMap<string, string>;
}>;

/** For git beside the sandbox or container: it runs nothing that a job or a repository may name. */
const machineOptions = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"],
  ...["-c", "protocol.ext.allow=never"],
];
const machineVariables = [
  ["GIT_CONFIG_GLOBAL", "/dev/null"],
  ["GIT_CONFIG_NOSYSTEM", "1"],
] as const;

/**
 * How the files of the commit get into the project's directory, which is empty: `GIT_STRATEGY` has two outcomes,
 * and nothing is to be cleaned. `GIT_CHECKOUT`, `GIT_FETCH_EXTRA_FLAGS`, `GIT_LFS_SKIP_SMUDGE` and
 * `GIT_SUBMODULE_*` mean what they mean to gitlab-runner.
 *
 * @param onMachine whether git runs outside of where the job is: then without extra flags, submodules and
 *   Git LFS, all of which can run programs that the job or the repository names
 */
export function sourcesOf(
  job: Job,
  { values }: Pick<JobEnvironment, "values">,
  { onMachine }: Readonly<{ onMachine: boolean }>,
): Sources | undefined {
  const strategy = values.get("GIT_STRATEGY") ?? "fetch";
  if (strategy === "none" || strategy === "empty") return undefined;
  const { git_info: git } = job;
  const { clean, header } = credentials(git.repo_url);
  const extra = onMachine ? undefined : flagsOf(values, "GIT_FETCH_EXTRA_FLAGS");
  const flags = ["--no-recurse-submodules", ...depthFlags(git.depth)];
  const more = extra ?? ["--prune", "--quiet"];
  const program = onMachine ? `git ${words(machineOptions)}` : "git";
  const fetch = `${program} fetch ${words([...flags, ...more])} -- origin ${words(git.refspecs)}`;
  const checkout = [
    say(`Checking out ${git.sha.slice(0, 8)} as detached HEAD (ref is ${git.ref})...`),
    `${program} checkout --force --quiet --detach ${quoted(git.sha)}`,
    ...(onMachine ? [] : inJob(values, git.depth)),
  ];
  return {
    lines: [
      `${program} -c init.defaultBranch=none init --quiet .`,
      // Repeated when fetching failed: `git remote add` would refuse the second time.
      `${program} config remote.origin.url ${quoted(clean)}`,
      `${program} config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'`,
      say(`Fetching changes${git.depth > 0 ? ` with depth ${git.depth}` : ""}...`),
      fetch,
      ...(isFalse(values.get("GIT_CHECKOUT")) ? [] : checkout),
    ],
    variables: new Map([
      ...(onMachine ? machineVariables : []),
      ["GIT_TERMINAL_PROMPT", "0"],
      ...gitConfiguration([
        // For this repository alone: the token opens no other one that is not open to everybody.
        [`http.${clean}.extraHeader`, header],
        ...(isTrue(values.get("GIT_SUBMODULE_FORCE_HTTPS")) ? httpForSsh(clean, values) : []),
      ]),
    ]),
  };
}

const words = (all: readonly string[]): string => all.map(quoted).join(" ");
const say = (text: string): string => `printf '%s\\n' ${quoted(text)}`;
const depthFlags = (depth: number): readonly string[] =>
  depth > 0 ? ["--depth", String(depth)] : [];

/** Fetches submodules of this service that are named by an SSH address by HTTP. */
function httpForSsh(clean: string, values: JobEnvironment["values"]): readonly ConfigEntry[] {
  const end = `${values.get("CI_PROJECT_PATH")}.git`;
  if (!clean.endsWith(`/${end}`)) return [];
  const key = `url.${clean.slice(0, -end.length)}.insteadOf`;
  const host = values.get("CI_SERVER_SHELL_SSH_HOST") ?? new URL(clean).hostname;
  const port = values.get("CI_SERVER_SHELL_SSH_PORT") ?? "22";
  const ports = port === "22" ? ["", ":22"] : [`:${port}`];
  return [
    [key, `git@${host}:`],
    ...ports.map((each): ConfigEntry => [key, `ssh://git@${host}${each}/`]),
  ];
}

function inJob(values: JobEnvironment["values"], depth: number): readonly string[] {
  const strategy = values.get("GIT_SUBMODULE_STRATEGY") ?? "none";
  const all = strategy === "recursive" ? " --recursive" : "";
  const hasSubmodules = strategy === "normal" || strategy === "recursive";
  return [
    ...(hasSubmodules ? submodules(values, { all, depth }) : []),
    forLargeFiles(values, largeFiles),
  ];
}

function submodules(
  values: JobEnvironment["values"],
  { all, depth }: Readonly<{ all: string; depth: number }>,
): readonly string[] {
  const own = Number(values.get("GIT_SUBMODULE_DEPTH") || depth);
  const flags = depthFlags(Number.isSafeInteger(own) ? own : depth);
  const more = flagsOf(values, "GIT_SUBMODULE_UPDATE_FLAGS") ?? [];
  const paths = flagsOf(values, "GIT_SUBMODULE_PATHS") ?? [];
  const which = paths.length === 0 ? "" : ` -- ${words(paths)}`;
  const update = [`git submodule update --init${all}`, ...[...flags, ...more].map(quoted)].join(
    " ",
  );
  return [
    "git submodule --quiet init",
    `git submodule --quiet sync${all}${which}`,
    `${update}${which}`,
    forLargeFiles(values, `git submodule --quiet foreach${all} ${quoted(largeFiles)}`),
  ];
}

/** The filter is set up as well: in a sandbox the configuration of the machine is not seen. */
const largeFiles = "git lfs install --local --skip-repo >/dev/null && git lfs pull";

function forLargeFiles(values: JobEnvironment["values"], line: string): string {
  if (isTrue(values.get("GIT_LFS_SKIP_SMUDGE"))) return ":";
  return `if git lfs version >/dev/null 2>&1; then ${line}; fi`;
}

/** The address without the credentials, and those as a header. */
function credentials(repositoryUrl: string): Readonly<{ clean: string; header: string }> {
  const url = new URL(repositoryUrl);
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  const header = `Authorization: Basic ${Buffer.from(login).toString("base64")}`;
  return { clean: url.href, header };
}
