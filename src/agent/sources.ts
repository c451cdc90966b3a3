import type { Job } from "./job.ts";
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
 * How the files of the commit get into the project's directory, which is empty. `GIT_STRATEGY`,
 * `GIT_CHECKOUT`, `GIT_SUBMODULE_STRATEGY`, `GIT_LFS_SKIP_SMUDGE` and `GIT_FETCH_EXTRA_FLAGS` mean what they mean
 * to gitlab-runner.
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
  const depth = git.depth > 0 ? ["--depth", String(git.depth)] : [];
  const flags = ["--no-recurse-submodules", "--prune", "--quiet", ...depth];
  const extra = onMachine ? "" : (values.get("GIT_FETCH_EXTRA_FLAGS") ?? "");
  const more = extra.split(/\s+/).filter(Boolean);
  const words = (all: readonly string[]): string => all.map(quoted).join(" ");
  const program = onMachine ? `git ${words(machineOptions)}` : "git";
  const fetch = `${program} fetch ${words([...flags, ...more])} -- origin ${words(git.refspecs)}`;
  const checkout = [
    say(`Checking out ${git.sha.slice(0, 8)} as detached HEAD (ref is ${git.ref})...`),
    `${program} checkout --force --quiet --detach ${quoted(git.sha)}`,
    ...(onMachine ? [] : inJob(values)),
  ];
  return {
    lines: [
      `${program} -c init.defaultBranch=none init --quiet .`,
      // Repeated when fetching failed: `git remote add` would refuse the second time.
      `${program} config remote.origin.url ${quoted(clean)}`,
      `${program} config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'`,
      say(`Fetching changes${git.depth > 0 ? ` with depth ${git.depth}` : ""}...`),
      fetch,
      ...(values.get("GIT_CHECKOUT") === "false" ? [] : checkout),
    ],
    variables: new Map([
      ...(onMachine ? machineVariables : []),
      ["GIT_TERMINAL_PROMPT", "0"],
      ["GIT_CONFIG_COUNT", "1"],
      // For this repository alone: to any other one the token is no proof, and it would be refused.
      ["GIT_CONFIG_KEY_0", `http.${clean}.extraHeader`],
      ["GIT_CONFIG_VALUE_0", header],
    ]),
  };
}

const say = (text: string): string => `printf '%s\\n' ${quoted(text)}`;

function inJob(values: JobEnvironment["values"]): readonly string[] {
  const strategy = values.get("GIT_SUBMODULE_STRATEGY") ?? "none";
  const all = strategy === "recursive" ? " --recursive" : "";
  const hasSubmodules = strategy === "normal" || strategy === "recursive";
  const submodules = [
    `git submodule --quiet sync${all}`,
    `git submodule update --init${all}`,
    forLargeFiles(values, `git submodule --quiet foreach${all} ${quoted(largeFiles)}`),
  ];
  return [...(hasSubmodules ? submodules : []), forLargeFiles(values, largeFiles)];
}

/** The filter is set up as well: in a sandbox the configuration of the machine is not seen. */
const largeFiles = "git lfs install --local --skip-repo >/dev/null && git lfs pull";

function forLargeFiles(values: JobEnvironment["values"], line: string): string {
  if (isTrue(values.get("GIT_LFS_SKIP_SMUDGE"))) return ":";
  return `if git lfs version >/dev/null 2>&1; then ${line}; fi`;
}

const isTrue = (value = ""): boolean => /^(?:1|t|true)$/i.test(value);

/** The address without the credentials, and those as a header. */
function credentials(repositoryUrl: string): Readonly<{ clean: string; header: string }> {
  const url = new URL(repositoryUrl);
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  const header = `Authorization: Basic ${Buffer.from(login).toString("base64")}`;
  return { clean: url.href, header };
}
