import { z } from "zod";

import { JobEnvironment } from "../events/pipeline/job-spec.ts";
import {
  count,
  duration,
  flag,
  name,
  names,
  oneOrMany,
  scalarText,
  script,
  text,
  variables,
} from "./field.ts";

/** What the keywords of a job hold, checked and brought to one form. */

const pathsMax = 1_000;
const UploadWhen = z.enum(["on_success", "on_failure", "always"], {
  error: "It must be on_success, on_failure or always.",
});
const Paths = names(pathsMax);
const endlessError = "It must be never or a duration such as 1h 30m.";

const ImageFields = {
  name: name(1_024),
  entrypoint: oneOrMany(text(), 100).optional(),
  pull_policy: oneOrMany(z.enum(["always", "if-not-present", "never"]), 3).optional(),
  docker: z.strictObject({ platform: text(255).optional(), user: text(255).optional() }).optional(),
  kubernetes: z.unknown().optional(),
};

type ImageInput = Readonly<{
  name: string;
  entrypoint?: readonly string[] | undefined;
  pull_policy?: readonly string[] | undefined;
  docker?: Readonly<{ platform?: string | undefined; user?: string | undefined }> | undefined;
}>;

function imageOf({ name: imageName, entrypoint, pull_policy: policy, docker }: ImageInput) {
  return {
    name: imageName,
    ...(entrypoint && { entrypoint: [...entrypoint] }),
    ...(policy && { pullPolicy: [...policy] }),
    ...(docker?.platform !== undefined && { platform: docker.platform }),
    ...(docker?.user !== undefined && { user: docker.user }),
  };
}

/** `image: name` is `image: {name: name}`. */
const named = (value: unknown) => (typeof value === "string" ? { name: value } : value);

export const Image = z.preprocess(named, z.strictObject(ImageFields).transform(imageOf));

const Service = z.preprocess(
  named,
  z
    .strictObject({
      ...ImageFields,
      alias: text(1_024).optional(),
      command: oneOrMany(text(), 100).optional(),
      variables: variables.optional(),
    })
    .transform(({ alias, command, variables: own, ...image }) => ({
      ...imageOf(image),
      ...(alias !== undefined && { alias }),
      ...(command && { command: [...command] }),
      ...(own && {
        variables: Object.fromEntries([...own].map(([key, { value }]) => [key, value])),
      }),
    })),
);

export const Services = oneOrMany(Service, 50);

const reportKinds = [
  "junit",
  "dotenv",
  "accessibility",
  "api_fuzzing",
  "browser_performance",
  "cluster_image_scanning",
  "coverage_fuzzing",
  "coverage_report",
  "load_performance",
  "repository_xray",
  "requirements",
  "codequality",
  "sast",
  "dast",
  "dependency_scanning",
  "container_scanning",
  "secret_detection",
  "license_scanning",
  "terraform",
  "metrics",
  "performance",
  "cyclonedx",
  "annotations",
] as const;

const CoverageReport = z
  .strictObject({ coverage_format: z.enum(["cobertura", "jacoco"]), path: name(1_024) })
  .transform(({ coverage_format: format, path }) => ({ [format]: [path] }));

const Reports = z
  .partialRecord(z.enum(reportKinds), z.unknown(), { error: "It must be a map of reports." })
  .transform((reports, context) => {
    const all: Record<string, string[]> = {};
    for (const [kind, value] of Object.entries(reports)) {
      const checked =
        kind === "coverage_report" ? CoverageReport.safeParse(value) : Paths.safeParse(value);
      if (!checked.success) {
        context.addIssue({
          code: "custom",
          message: "It must be a path or a list of paths.",
          path: [kind],
        });
      } else if (kind === "coverage_report") Object.assign(all, checked.data);
      else all[kind] = [...(checked.data as readonly string[])];
    }
    return all;
  });

export const Artifacts = z
  .strictObject({
    name: text(255).nullish(),
    paths: Paths.optional(),
    exclude: Paths.optional(),
    untracked: flag.default(false),
    when: UploadWhen.default("on_success"),
    expire_in: z.union([z.literal("never"), duration], { error: endlessError }).nullish(),
    public: flag.default(true),
    access: z.enum(["all", "developer", "maintainer", "none"]).optional(),
    expose_as: text(100).optional(),
    reports: Reports.optional(),
  })
  .transform((given) => ({
    name: given.name ?? null,
    paths: [...(given.paths ?? [])],
    exclude: [...(given.exclude ?? [])],
    untracked: given.untracked,
    when: given.when,
    expireIn:
      given.expire_in === undefined || given.expire_in === null ? null : String(given.expire_in),
    public: given.public && (given.access === undefined || given.access === "all"),
    reports: given.reports ?? {},
  }));

const CacheKey = z.union(
  [
    scalarText.transform((key) => ({ key })),
    z.strictObject({ files: names(2), prefix: scalarText.optional() }),
    // Their content changes with their last commit.
    z
      .strictObject({ files_commits: names(2), prefix: scalarText.optional() })
      .transform(({ files_commits: files, prefix }) => ({ files, prefix })),
  ],
  { error: "It must be text or {files: …, prefix: …}." },
);

const CachePolicy = z.enum(["pull-push", "pull", "push"]);

/** One that names variables is known with them; nothing at all is the default. */
export function cachePolicyOf(text: string): z.output<typeof CachePolicy> | undefined {
  return text === "" ? "pull-push" : CachePolicy.safeParse(text).data;
}

export const cachePolicyError = "It must be pull-push, pull or push.";

const Cache = z
  .strictObject({
    key: CacheKey.default({ key: "default" }),
    fallback_keys: names(5).default([]),
    paths: Paths.default([]),
    untracked: flag.default(false),
    policy: z
      .string({ error: cachePolicyError })
      .max(255, { error: cachePolicyError })
      .refine((given) => given.includes("$") || CachePolicy.safeParse(given).success, {
        error: cachePolicyError,
      })
      .default("pull-push"),
    when: UploadWhen.default("on_success"),
    unprotect: flag.default(false),
  })
  .transform(({ fallback_keys: fallbackKeys, ...rest }) => ({ ...rest, fallbackKeys }));
export type CacheConfig = z.output<typeof Cache>;

/** At most as many as GitLab takes. */
export const Caches = oneOrMany(Cache, 4);

export const Environment = z.preprocess(
  named,
  z
    .strictObject({
      name: name(),
      url: text(2_048).nullish(),
      action: JobEnvironment.shape.action.default("start"),
      on_stop: name().nullish(),
      auto_stop_in: z.union([z.literal("never"), duration], { error: endlessError }).optional(),
      deployment_tier: text(50).optional(),
      kubernetes: z.unknown().optional(),
    })
    .transform((given) => ({
      name: given.name,
      url: given.url ?? null,
      action: given.action,
      onStop: given.on_stop ?? null,
      tier: given.deployment_tier ?? null,
      autoStopInSeconds: given.auto_stop_in === "never" ? null : (given.auto_stop_in ?? null),
    })),
);

const retryReasons = [
  "always",
  "unknown_failure",
  "script_failure",
  "api_failure",
  "stuck_or_timeout_failure",
  "runner_system_failure",
  "runner_unsupported",
  "stale_schedule",
  "job_execution_timeout",
  "archived_failure",
  "unmet_prerequisites",
  "scheduler_failure",
  "data_integrity_failure",
] as const;

export const Retry = z.preprocess(
  (value) => (typeof value === "number" ? { max: value } : value),
  z
    .strictObject({
      max: count(0, 2).default(2),
      when: oneOrMany(
        z.enum(retryReasons, { error: "It is no reason to try again." }),
        20,
      ).optional(),
      exit_codes: oneOrMany(count(0, 255), 256).optional(),
    })
    .transform(({ max, when, exit_codes: exitCodes }) => ({
      max,
      when: [...(when ?? (exitCodes ? [] : ["always"]))],
      exitCodes: [...(exitCodes ?? [])],
    })),
);

export const AllowFailure = z.union(
  [
    z.boolean().transform((always) => ({ always, exitCodes: [] as number[] })),
    z
      .strictObject({ exit_codes: oneOrMany(count(0, 255), 256) })
      .transform(({ exit_codes: codes }) => ({ always: false, exitCodes: [...codes] })),
  ],
  { error: "It must be true, false or {exit_codes: …}." },
);

const Matrix = z
  .array(
    z.record(z.string(), oneOrMany(scalarText, 200), { error: "It must be a map of lists." }),
    { error: "It must be a list of maps." },
  )
  .min(1, { error: "It is empty." })
  .max(50, { error: "There are more than 50 entries." });

export const Parallel = z.union([count(1, 200), z.strictObject({ matrix: Matrix })], {
  error: "It must be a number from 1 to 200, or {matrix: …}.",
});

const Need = z.preprocess(
  (value) => (typeof value === "string" ? { job: value } : value),
  z
    .strictObject({
      job: name(),
      artifacts: flag.default(true),
      optional: flag.default(false),
      parallel: z.strictObject({ matrix: Matrix }).optional(),
    })
    .transform(({ parallel, ...rest }) => ({ ...rest, matrix: parallel?.matrix ?? null })),
);
export type NeedConfig = z.output<typeof Need>;
export const Needs = oneOrMany(Need, 200);

const TriggerInclude = z.preprocess(
  (value) => (typeof value === "string" ? { local: value } : value),
  z.union(
    [
      z.strictObject({ local: name(1_024) }),
      z.strictObject({ artifact: name(1_024), job: name() }),
      z
        .strictObject({ project: name(), file: name(1_024), ref: name().nullish() })
        .transform(({ project, file, ref }) => ({ project, file, ref: ref ?? null })),
    ],
    { error: "It must be {local: …}, {artifact: …, job: …} or {project: …, file: …}." },
  ),
);

const Forward = z.strictObject({
  yaml_variables: flag.default(true),
  pipeline_variables: flag.default(false),
});

export const Trigger = z.preprocess(
  (value) => (typeof value === "string" ? { project: value } : value),
  z
    .strictObject({
      include: oneOrMany(TriggerInclude, 3).optional(),
      project: name().optional(),
      branch: name().optional(),
      strategy: z.enum(["depend", "mirror"], { error: "It must be depend or mirror." }).optional(),
      forward: Forward.default({ yaml_variables: true, pipeline_variables: false }),
    })
    .refine((given) => (given.include === undefined) !== (given.project === undefined), {
      error: "It takes either include or project.",
    })
    .transform((given) => ({
      include: [...(given.include ?? [])],
      project: given.project ?? null,
      branch: given.branch ?? null,
      depend: given.strategy !== undefined,
      forwardYaml: given.forward.yaml_variables,
      forwardPipeline: given.forward.pipeline_variables,
    })),
);

const linksMax = 100;
/** A path of its own and a kind change nothing here. */
const ReleaseLink = z
  .strictObject({
    name: name(),
    url: name(2_048),
    filepath: text(255).optional(),
    link_type: z.enum(["other", "runbook", "image", "package"]).optional(),
  })
  .transform(({ name, url }) => ({ name, url }));

export const Release = z
  .strictObject({
    tag_name: name(),
    tag_message: text().optional(),
    name: text(255).optional(),
    description: text(100_000),
    ref: name().optional(),
    milestones: z.unknown().optional(),
    released_at: z.unknown().optional(),
    assets: z.strictObject({ links: z.array(ReleaseLink).max(linksMax).optional() }).optional(),
  })
  .transform((given) => ({
    tagName: given.tag_name,
    name: given.name ?? null,
    description: given.description,
    ref: given.ref ?? null,
    ...(given.tag_message !== undefined && { tagMessage: given.tag_message }),
    ...(given.assets?.links !== undefined && { links: given.assets.links }),
  }));

export const Hooks = z
  .strictObject({ pre_get_sources_script: script.optional() })
  .transform(({ pre_get_sources_script: lines }) => lines ?? []);
