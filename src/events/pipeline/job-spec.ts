import { z } from "zod";

const Lines = z.array(z.string());

export const JobImage = z.object({
  name: z.string(),
  entrypoint: Lines.optional(),
  pullPolicy: Lines.optional(),
  platform: z.string().optional(),
  user: z.string().optional(),
});
export type JobImage = Readonly<z.output<typeof JobImage>>;

export const JobService = JobImage.extend({
  /** Host names, separated by commas. */
  alias: z.string().optional(),
  command: Lines.optional(),
  variables: z.record(z.string(), z.string()).optional(),
});

/** A variable of the file. `raw`: references in the value are not expanded. */
export const FileVariable = z.object({ key: z.string(), value: z.string(), raw: z.boolean() });
export type FileVariable = Readonly<z.output<typeof FileVariable>>;

export const JobWhen = z.enum(["on_success", "on_failure", "always", "manual", "delayed"]);
export type JobWhen = z.output<typeof JobWhen>;

const UploadWhen = z.enum(["on_success", "on_failure", "always"]);

export const JobArtifacts = z.object({
  name: z.string().nullable(),
  paths: Lines,
  exclude: Lines,
  untracked: z.boolean(),
  when: UploadWhen,
  /** Null: the default of the service; "never": kept until a user deletes them. */
  expireIn: z.string().nullable(),
  public: z.boolean(),
  /** Kind of the report, for example `junit` or `dotenv`, and its paths. */
  reports: z.record(z.string(), Lines),
});

export const JobCache = z.object({
  key: z.string(),
  fallbackKeys: Lines,
  paths: Lines,
  untracked: z.boolean(),
  policy: z.enum(["pull-push", "pull", "push"]),
  when: UploadWhen,
  /** Whether protected and other branches share it. */
  unprotect: z.boolean(),
});

export const JobEnvironment = z.object({
  /** May name variables. */
  name: z.string(),
  url: z.string().nullable(),
  action: z.enum(["start", "prepare", "stop", "verify", "access"]),
  onStop: z.string().nullable(),
  tier: z.string().nullable(),
  autoStopInSeconds: z.int().nullable(),
});

/** Where the file of a child pipeline comes from. */
const TriggerInclude = z.union([
  z.object({ local: z.string() }),
  z.object({ artifact: z.string(), job: z.string() }),
  z.object({ project: z.string(), file: z.string(), ref: z.string().nullable() }),
]);

export const JobTrigger = z.object({
  /** Empty: the pipeline of another project. */
  include: z.array(TriggerInclude),
  /** `owner/alias`; null: a child pipeline of this project. */
  project: z.string().nullable(),
  branch: z.string().nullable(),
  /** Whether the job ends as the pipeline does that it starts. */
  depend: z.boolean(),
  forwardYaml: z.boolean(),
  forwardPipeline: z.boolean(),
});
export type JobTrigger = Readonly<z.output<typeof JobTrigger>>;

export const JobRelease = z.object({
  tagName: z.string(),
  name: z.string().nullable(),
  description: z.string(),
  ref: z.string().nullable(),
  /** Of an annotated tag. */
  tagMessage: z.string().optional(),
  /** Assets that are kept elsewhere. */
  links: z.array(z.object({ name: z.string(), url: z.string() })).optional(),
});

/** Everything a job is, as the file says it, defaults and rules applied. */
export const JobSpec = z.object({
  name: z.string(),
  stage: z.string(),
  /** Place of the stage among those of the pipeline. */
  stageIndex: z.int().nonnegative(),
  beforeScript: Lines,
  script: Lines,
  afterScript: Lines,
  preGetSources: Lines,
  image: JobImage.nullable(),
  services: z.array(JobService),
  variables: z.array(FileVariable),
  tags: Lines,
  when: JobWhen,
  startInSeconds: z.int().nonnegative().nullable(),
  allowFailure: z.object({ always: z.boolean(), exitCodes: z.array(z.int()) }),
  /** Names of jobs of the same pipeline; null: all jobs of earlier stages come first. */
  needs: z.array(z.object({ job: z.string(), artifacts: z.boolean() })).nullable(),
  /** Names of jobs whose artifacts are fetched; null: those that come first. */
  dependencies: Lines.nullable(),
  artifacts: JobArtifacts.nullable(),
  cache: z.array(JobCache),
  environment: JobEnvironment.nullable(),
  retry: z.object({ max: z.int(), when: Lines, exitCodes: z.array(z.int()) }),
  timeoutSeconds: z.int().positive().nullable(),
  interruptible: z.boolean(),
  resourceGroup: z.string().nullable(),
  release: JobRelease.nullable(),
  trigger: JobTrigger.nullable(),
  coverage: z.string().nullable(),
  /** Place in a set of parallel jobs, from 1. */
  parallel: z.object({ index: z.int(), total: z.int() }).nullable(),
});
export type JobSpec = Readonly<z.output<typeof JobSpec>>;
