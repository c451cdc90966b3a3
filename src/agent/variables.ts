import { expandText, expandVariables } from "../pipeline-file/expand.ts";
import { architecture } from "./about.ts";
import { type ConfigEntry, gitConfiguration } from "./git-configuration.ts";
import type { Job } from "./job.ts";

/** Directories as the job sees them. */
export type SeenPlace = Readonly<{
  builds: string;
  project: string;
  /** For files of variables; beside the project, not in it. */
  temporary: string;
  /** The job only reads it: what it writes elsewhere never becomes a path that the agent writes to. */
  scripts: string;
  home: string;
}>;

export type JobEnvironment = Readonly<{
  /** Expanded, in the order in which they came. */
  values: ReadonlyMap<string, string>;
  /** Contents of files whose paths are the values of variables, by file name. */
  files: ReadonlyMap<string, string>;
  /** What may not stand in the log. */
  masked: readonly string[];
  expand: (text: string) => string;
}>;

type EnvironmentInput = Readonly<{
  job: Job;
  place: SeenPlace;
  timeoutSeconds: number;
  /** Place of the job among those that run at this moment, from 0. */
  slot: number;
  version: string;
  isolated: boolean;
  /** Whether the job runs as a user of its image, with the home of that user. */
  inImage: boolean;
}>;

/**
 * Lets git of a script fetch what the token of the job opens, as it does with gitlab-runner. Git reads
 * the password from it last, and no file holds it.
 */
function credentialHelper(repositoryUrl: string): readonly ConfigEntry[] {
  const { protocol, origin } = new URL(repositoryUrl);
  if (!protocol.startsWith("http")) return [];
  const answer = 'echo username=gitlab-ci-token; echo "password=$CI_JOB_TOKEN"';
  const helper = `!f() { if [ "$1" = get ]; then ${answer}; fi; }; f`;
  return [[`credential.${origin}.helper`, helper]];
}

/** Git refuses repositories of other users: that of the agent may be another than that of the image. */
const anyOwner: ConfigEntry = ["safe.directory", "*"];

/** The variables of a job. What the service sends wins over what the agent knows; the last of a name wins. */
export function environmentOf(input: EnvironmentInput): JobEnvironment {
  const { job, place, timeoutSeconds, slot, version, isolated, inImage } = input;
  const all = new Map<string, string>([
    ["CI_BUILDS_DIR", place.builds],
    ["CI_PROJECT_DIR", place.project],
    ["CI_CONCURRENT_ID", String(slot)],
    ["CI_CONCURRENT_PROJECT_ID", String(slot)],
    ["CI_SERVER", "yes"],
    ["CI_JOB_STATUS", "running"],
    ["CI_JOB_TIMEOUT", String(timeoutSeconds)],
    ["CI_RUNNER_VERSION", version],
    ["CI_RUNNER_EXECUTABLE_ARCH", `${process.platform}/${architecture}`],
    [isolated ? "CI_DISPOSABLE_ENVIRONMENT" : "CI_SHARED_ENVIRONMENT", "true"],
    ...(inImage ? [] : [["HOME", place.home] as const]),
    ...gitConfiguration([
      ...credentialHelper(job.git_info.repo_url),
      ...(inImage ? [anyOwner] : []),
    ]),
  ]);
  const raw = new Set<string>(all.keys());
  if (inImage && job.image) all.set("CI_JOB_IMAGE", job.image.name);
  const fileTexts = new Map<string, { text: string; raw: boolean }>();
  const isName = /^[A-Za-z_][A-Za-z0-9_]*$/;
  for (const { key, value, file, raw: isRaw } of job.variables) {
    if (!isName.test(key)) continue;
    fileTexts.delete(key);
    if (file) fileTexts.set(key, { text: value, raw: isRaw });
    all.set(key, file ? `${place.temporary}/${key}` : value);
    if (isRaw || file) raw.add(key);
    else raw.delete(key);
  }
  const values = expandVariables(all, raw);
  const expand = (text: string): string => expandText(text, (name) => values.get(name));
  const files = new Map(
    [...fileTexts].map(([key, { text, raw: isRaw }]) => [key, isRaw ? text : expand(text)]),
  );
  const secrets = job.variables.flatMap(({ key, value, masked, file }) =>
    masked ? [value, (file ? files : values).get(key) ?? ""] : [],
  );
  return { values, files, masked: [job.token, ...secrets], expand };
}
