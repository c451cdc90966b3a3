import { z } from "zod";

import { JobWhen } from "../events/pipeline/job-spec.ts";
import {
  count,
  duration,
  flag,
  name,
  names,
  StartIn,
  scalarText,
  script,
  variables,
} from "./field.ts";
import {
  AllowFailure,
  Artifacts,
  Caches,
  Environment,
  Hooks,
  Image,
  Needs,
  Parallel,
  Release,
  Retry,
  Services,
  Trigger,
} from "./job-config.ts";
import { OnlyPolicy } from "./only.ts";
import { AutoCancel, type Rule, Rules } from "./rules.ts";

const timeoutSecondsMax = 30 * 86_400;

const Timeout = duration.pipe(count(1, timeoutSecondsMax));

/** Keywords that `default` may hold, and that a job takes from there. */
const shared = {
  image: Image.nullish(),
  services: Services.optional(),
  before_script: script.optional(),
  after_script: script.optional(),
  cache: Caches.optional(),
  artifacts: Artifacts.optional(),
  retry: Retry.optional(),
  timeout: Timeout.optional(),
  interruptible: flag.optional(),
  tags: names(50).optional(),
  hooks: Hooks.optional(),
  identity: z.unknown().optional(),
} as const;

export const DefaultConfig = z.strictObject(shared, { error: "It must be a map of keywords." });

const inherited = z.union([z.boolean(), z.array(z.string())], {
  error: "It must be true, false or a list of names.",
});
const Inherit = z.strictObject({
  default: inherited.optional(),
  variables: inherited.optional(),
});

export const JobConfig = z
  .strictObject(
    {
      ...shared,
      stage: name().optional(),
      script: script.optional(),
      /** As `script`. */
      scripts: script.optional(),
      variables: variables.optional(),
      when: z
        .enum([...JobWhen.options, "never"], {
          error: "It must be on_success, on_failure, always, manual, delayed or never.",
        })
        .optional(),
      start_in: StartIn.optional(),
      allow_failure: AllowFailure.optional(),
      needs: Needs.optional(),
      dependencies: names(200).optional(),
      environment: Environment.optional(),
      rules: Rules.optional(),
      only: OnlyPolicy.optional(),
      except: OnlyPolicy.optional(),
      trigger: Trigger.optional(),
      extends: z.unknown().optional(),
      release: Release.optional(),
      resource_group: scalarText.optional(),
      parallel: Parallel.optional(),
      coverage: name(1_024).optional(),
      inherit: Inherit.optional(),
      description: z.string().optional(),
      manual_confirmation: z.string().optional(),
      /** See `ignoredIn`. */
      pages: z.unknown().optional(),
      publish: z.unknown().optional(),
      dast_configuration: z.unknown().optional(),
    },
    { error: "It must be a map of keywords." },
  )
  .superRefine((job, context) => {
    const issue = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    const lines = job.script ?? job.scripts;
    if (job.trigger === undefined && lines === undefined && job.release === undefined) {
      issue("script", "The job has neither script nor trigger.");
    }
    if (job.trigger !== undefined && lines !== undefined) {
      issue("trigger", "A job has either script or trigger.");
    }
    if (job.script !== undefined && job.scripts !== undefined) {
      issue("scripts", "script and scripts mean the same; use one of them.");
    }
    if (job.rules !== undefined && (job.only !== undefined || job.except !== undefined)) {
      issue("rules", "rules cannot be used together with only or except.");
    }
    const problem = delayProblem(job);
    if (problem !== undefined) issue(...problem);
    if (job.when === "never" && job.rules === undefined) {
      issue("when", "never is for rules.");
    }
  });
export type JobConfig = z.output<typeof JobConfig>;

type Delays = Readonly<{
  when?: string | undefined;
  start_in?: number | undefined;
  rules?: readonly Rule[] | undefined;
}>;

/** A rule without `when` or `start_in` has those of the job. */
function delayProblem({ when, start_in: startIn, rules }: Delays): [string, string] | undefined {
  const isDelayed = (rule: Rule) => (rule.when ?? when) === "delayed";
  const none = "start_in is for delayed jobs.";
  if (when === "delayed" && startIn === undefined) {
    return ["start_in", "A delayed job needs start_in."];
  }
  if (startIn !== undefined && when !== "delayed" && !rules?.some(isDelayed)) {
    return ["start_in", none];
  }
  for (const rule of rules ?? []) {
    if (rule.start_in !== undefined && !isDelayed(rule)) return ["rules", none];
    if (rule.when === "delayed" && (rule.start_in ?? startIn) === undefined) {
      return ["rules", "A delayed job needs start_in."];
    }
  }
  return undefined;
}

export const WorkflowConfig = z.strictObject(
  {
    name: z.string().max(255).optional(),
    rules: Rules.optional(),
    auto_cancel: AutoCancel.optional(),
  },
  { error: "It must be a map of keywords." },
);

export const StagesConfig = names(200);
