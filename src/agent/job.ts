import { z } from "zod";

const text = z.string().default("");
const texts = z
  .array(z.string())
  .nullish()
  .transform((all) => all ?? []);
const list = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((all) => all ?? []);

const JobVariable = z.object({
  key: z.string(),
  value: z.string(),
  public: z.boolean().default(false),
  masked: z.boolean().default(false),
  file: z.boolean().default(false),
  raw: z.boolean().default(false),
});
export type JobVariable = Readonly<z.output<typeof JobVariable>>;

const When = z.enum(["on_success", "on_failure", "always"]).catch("on_success");

const JobArtifact = z.object({
  name: text,
  untracked: z.boolean().default(false),
  paths: texts,
  exclude: texts,
  when: When.default("on_success"),
  artifact_type: text,
  artifact_format: text,
  expire_in: text,
});
export type JobArtifact = Readonly<z.output<typeof JobArtifact>>;

const JobCache = z.object({
  key: text,
  untracked: z.boolean().default(false),
  policy: z.enum(["pull-push", "pull", "push"]).catch("pull-push"),
  paths: texts,
  when: When.default("on_success"),
  fallback_keys: texts,
});
export type JobCache = Readonly<z.output<typeof JobCache>>;

const variables = list(JobVariable);

const imageFields = {
  name: z.string(),
  /** Replaces that of the image; one empty text removes it. */
  entrypoint: z.array(z.string()).nullish(),
  pull_policy: texts,
  executor_opts: z
    .object({
      docker: z.object({ platform: z.string().optional(), user: z.string().optional() }).nullish(),
    })
    .nullish(),
};

const JobImage = z.object(imageFields);
export type JobImage = Readonly<z.output<typeof JobImage>>;

/** `alias`: host names, separated by commas or spaces. */
const JobService = z.object({ ...imageFields, alias: text, command: texts, variables });
export type JobService = Readonly<z.output<typeof JobService>>;

/** A job as the service gives it: gitlab-runner's protocol, as far as this agent reads it. */
export const Job = z.object({
  id: z.int().positive(),
  token: z.string().min(1),
  job_info: z.object({
    name: z.string(),
    stage: text,
    project_id: z.int(),
    project_name: text,
    project_full_path: text,
  }),
  git_info: z.object({
    repo_url: z.string(),
    ref: text,
    sha: z.string().regex(/^[0-9a-f]{40,64}$/),
    refspecs: texts,
    depth: z.int().min(0).default(0),
  }),
  runner_info: z.object({ timeout: z.int().default(0) }),
  variables,
  steps: list(z.object({ name: z.string(), script: texts })),
  image: JobImage.nullish(),
  services: list(JobService),
  artifacts: list(JobArtifact),
  cache: list(JobCache),
  /** Logins at registries, for pulling images. */
  credentials: list(z.object({ type: text, url: text, username: text, password: text })),
  dependencies: list(
    z.object({
      id: z.int(),
      token: z.string(),
      name: text,
      artifacts_file: z.object({ filename: text }).nullish(),
    }),
  ),
  hooks: list(z.object({ name: z.string(), script: texts })),
});
export type Job = Readonly<z.output<typeof Job>>;

export type FailureReason =
  | "script_failure"
  | "runner_system_failure"
  | "job_execution_timeout"
  | "image_pull_failure"
  | "runner_configuration_error"
  | "runner_interrupted"
  | "job_canceled";

/** The job cannot go on. The message is for its log. */
export class JobFailure extends Error {
  override readonly name = "JobFailure";

  constructor(
    readonly reason: FailureReason,
    message: string,
    readonly exitCode?: number,
  ) {
    super(message);
  }
}
