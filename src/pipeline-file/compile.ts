import { isDeepStrictEqual } from "node:util";

import type { z } from "zod";

import type { JobSpec } from "../events/pipeline/job-spec.ts";
import { expander, expandText, layered, type Values } from "./expand.ts";
import type { FileVariables } from "./field.ts";
import { variables as VariablesConfig } from "./field.ts";
import { ignoredIn } from "./ignored.ts";
import { type Included, type IncludeFacts, readWithIncludes, startOf } from "./include.ts";
import { inheritedVariables, withDefaults } from "./inherit.ts";
import {
  type ChosenJob,
  cachesOf,
  candidatesOf,
  type Instance,
  instanceOf,
  parallelMax,
  withPolicy,
} from "./job.ts";
import { cachePolicyError } from "./job-config.ts";
import { DefaultConfig, JobConfig, StagesConfig, WorkflowConfig } from "./job-schema.ts";
import { type Candidate, seenBy, stageOf } from "./job-variable.ts";
import { failAt, markAt, problemAt, writtenPath } from "./mark.ts";
import { extendJobs, mergeMaps, resolveReferences } from "./merge.ts";
import { messageOf } from "./message.ts";
import { resolveNeeds } from "./needs.ts";
import { defaultOnly, included, type RefFacts } from "./only.ts";
import {
  PathMatcher,
  type RepositoryFacts,
  type Rule,
  ruleFor,
  UnanswerableRule,
} from "./rules.ts";
import {
  type FileProblem,
  type FileText,
  isMap,
  newMap,
  PipelineFileError,
  problemsMax,
  type YamlMap,
} from "./value.ts";

const jobsMax = 2_000;
/** Of all jobs as they are stored. */
const specBytesMax = 4 * 1024 * 1024;
/** With what its pipeline was given it fits into the 1 MiB that a store takes at once. */
const jobBytesMax = 512 * 1024;
const nameLengthMax = 255;

/** Keywords that stood for `default` before there was one; others of `default` may name jobs. */
const formerDefaults = ["image", "services", "before_script", "after_script", "cache"];
const keywords = new Set([
  ...["stages", "types", "include", "variables", "workflow", "default", "spec"],
  ...formerDefaults,
]);

/** Everything that a pipeline is made of beside its file. */
export type PipelineFacts = RepositoryFacts &
  IncludeFacts &
  RefFacts &
  Readonly<{
    /** Names the content of files, for keys of caches. */
    hashOf: (paths: readonly string[]) => Promise<string>;
    /** Variables that those of the file win over. */
    predefined: ReadonlyMap<string, string>;
    /** Variables that win over those of the file. */
    outer: ReadonlyMap<string, string>;
    /** Of these, the ones that were given at the start. Names of environments use no others of them. */
    atStart: ReadonlyMap<string, string>;
  }>;

export type CompiledPipeline = Readonly<{
  jobs: readonly JobSpec[];
  stages: readonly string[];
  name: string | null;
  /** Whether a newer pipeline of the same ref ends this one. */
  autoCancel: "conservative" | "interruptible" | "none";
  /** Whether a job that fails ends the others. */
  cancelOnFailure: boolean;
  /** The `workflow` of the file lets no pipeline come of this. */
  refused: boolean;
  warnings: readonly string[];
}>;

/**
 * Makes jobs of a pipeline file, as GitLab does; see docs/adr/0068-pipeline-file.md for the limits.
 *
 * @param fileName as messages name it
 * @throws PipelineFileError naming what is wrong, and where
 */
export async function compilePipeline(
  text: FileText,
  fileName: string,
  facts: PipelineFacts,
): Promise<CompiledPipeline> {
  const paths = new PathMatcher(facts);
  const outside = merged(facts.predefined, facts.outer);
  try {
    const read = await readWithIncludes(text, fileName, facts, outside, paths);
    const resolved = resolveReferences(read.value, read.mark);
    const root = extendJobs(resolved, read.mark);
    return await new Compilation(root, read, facts, paths).run();
  } catch (error) {
    if (!(error instanceof UnanswerableRule)) throw error;
    return failAt(startOf(fileName), "rules", error.message);
  }
}

class Compilation {
  readonly #problems: FileProblem[] = [];
  readonly #warnings: string[] = [];

  constructor(
    readonly root: YamlMap,
    readonly read: Included,
    readonly facts: PipelineFacts,
    readonly paths: PathMatcher,
  ) {}

  async run(): Promise<CompiledPipeline> {
    const { root } = this;
    const stages = stagesOf(this.#checked(StagesConfig, ["stages"]));
    const fileVariables = this.#checked(VariablesConfig, ["variables"]) ?? new Map();
    const workflow = this.#checked(WorkflowConfig, ["workflow"]);
    const defaults = this.#defaults();
    this.#stop();

    const { outer, predefined } = this.facts;
    const ofFile: Values = { get: (key) => fileVariables.get(key)?.value };
    const seen = layered(outer, ofFile, predefined);
    const rule = workflow?.rules && (await ruleFor(workflow.rules, seen, this.paths));
    const refused = workflow?.rules !== undefined && (rule === undefined || rule.when === "never");
    const common = new Map([...fileVariables, ...(rule?.variables ?? [])]);
    const autoCancel = { ...workflow?.auto_cancel, ...rule?.auto_cancel };
    const head = {
      stages,
      name: workflow?.name ?? null,
      autoCancel: autoCancel.on_new_commit ?? "conservative",
      cancelOnFailure: autoCancel.on_job_failure === "all",
    } as const;
    if (refused) return { ...head, jobs: [], refused, warnings: this.read.warnings };

    const names = Object.keys(root).filter((key) => !keywords.has(key) && !key.startsWith("."));
    if (names.length === 0 && Object.keys(root).length > 0) {
      this.#report([], "The file has no job that is visible: `.name` is hidden.");
    }
    if (names.length > jobsMax) this.#tooMany();
    const chosen: (readonly ChosenJob[])[] = [];
    let count = 0;
    for (const name of names) {
      const config = this.#job(name, defaults);
      if (config === undefined) continue;
      const jobs = await this.#choose(name, config, common, workflow?.rules === undefined);
      count += jobs.length;
      if (count > jobsMax) this.#tooMany();
      chosen.push(jobs);
    }
    this.#stop();
    const instances = await this.#instances(chosen, stages);
    const { jobs, problems } = resolveNeeds(instances, new Set(names));
    for (const { job, key, message } of problems) this.#report([job, key], message);
    this.#stop();
    this.#mustBeStorable(jobs);
    const isEmpty = jobs.every(({ stage }) => isEdge(stage));
    const [first] = instances;
    if (isEmpty && first !== undefined) {
      this.#warn([first.base, "stage"], "Jobs of .pre and .post alone make no pipeline.");
    }
    const warnings = [...this.read.warnings, ...this.#warnings];
    return { ...head, jobs: isEmpty ? [] : inOrder(jobs), refused, warnings };
  }

  /** `default`, and the keywords that once stood in its place. */
  #defaults(): YamlMap {
    const { root } = this;
    const given = newMap();
    for (const key of formerDefaults) {
      if (root[key] !== undefined) given[key] = root[key];
    }
    const own = root["default"];
    const all = isMap(own) ? mergeMaps(given, own) : given;
    if (own !== undefined && own !== null && !isMap(own)) {
      this.#report(["default"], "It must be a map of keywords.");
    }
    const isOwn = (key: PropertyKey): boolean => isMap(own) && Object.hasOwn(own, key);
    this.#warnOfIgnored([], given);
    if (isMap(own)) this.#warnOfIgnored(["default"], own);
    // A mistake is where the keyword is written: at the top of the file, or below `default`.
    this.#problemsOf(DefaultConfig.safeParse(all), ([key]) =>
      key === undefined || isOwn(key) ? ["default"] : [],
    );
    return all;
  }

  #job(name: string, defaults: YamlMap): JobConfig | undefined {
    const { root } = this;
    const own = root[name];
    if (name.length > nameLengthMax) {
      this.#report([name], `The name of a job has at most ${nameLengthMax} characters.`);
    }
    if (/\p{Cc}/u.test(name)) this.#report([name], "The name has a control character.");
    if (!isMap(own)) {
      this.#report([name], "It is no keyword, and a job must be a map of keywords.");
      return undefined;
    }
    const whole = withDefaults(own, defaults);
    this.#warnOfIgnored([name], own);
    const config = this.#problemsOf(JobConfig.safeParse(whole), [name]);
    if (config?.cache?.some(({ unprotect }) => unprotect)) {
      this.#warn([name, "cache"], "unprotect has no effect: protected refs have their own caches.");
    }
    return config;
  }

  #warnOfIgnored(above: readonly PropertyKey[], keywords: YamlMap): void {
    for (const path of ignoredIn(keywords)) this.#warn([...above, ...path], "It has no effect.");
  }

  #warn(path: readonly PropertyKey[], message: string): void {
    const mark = markAt(this.root, path, this.read.mark);
    const where = problemAt(mark, path.map(String).join("."), message);
    this.#warnings.push(`${where.file}:${where.line}: ${where.key}: ${where.message}`);
  }

  /** The jobs that rules let in, of all that `parallel` makes of one: each is judged by itself. */
  async #choose(
    name: string,
    config: JobConfig,
    common: FileVariables,
    hasDefault: boolean,
  ): Promise<readonly ChosenJob[]> {
    const inherited = inheritedVariables(config, common);
    const variables = new Map([...inherited, ...(config.variables ?? [])]);
    const candidates = candidatesOf(name, config, variables);
    if (candidates === undefined) {
      const message = `The matrix must make 1 to ${parallelMax} jobs.`;
      this.#report([name, "parallel", "matrix"], message);
      return [];
    }
    const chosen: ChosenJob[] = [];
    for (const candidate of candidates) {
      const rule = await this.#ruleFor(candidate, hasDefault);
      if (rule !== "out") chosen.push({ ...candidate, rule });
    }
    return chosen;
  }

  async #ruleFor(candidate: Candidate, hasDefault: boolean): Promise<Rule | undefined | "out"> {
    const { config } = candidate;
    const seen = seenBy(candidate, this.facts);
    if (config.rules === undefined) {
      const isBare = hasDefault && config.except === undefined;
      const only = config.only ?? (isBare ? defaultOnly : {});
      const isIn = await included(only, config.except, this.facts, seen, this.paths);
      return isIn ? undefined : "out";
    }
    const rule = await ruleFor(config.rules, seen, this.paths);
    return rule === undefined || (rule.when ?? config.when) === "never" ? "out" : rule;
  }

  async #instances(
    chosen: readonly (readonly ChosenJob[])[],
    stages: readonly string[],
  ): Promise<readonly Instance[]> {
    const instances: Instance[] = [];
    for (const jobs of chosen) {
      const [first] = jobs;
      if (first === undefined) continue;
      const { base, config } = first;
      const stageIndex = stages.indexOf(stageOf(config));
      if (stageIndex < 0) {
        const message = `There is no stage ${stageOf(config)} among: ${stages.join(", ")}.`;
        this.#report([base, "stage"], message);
        continue;
      }
      const caches = await cachesOf(config.cache, this.facts.hashOf);
      for (const job of jobs) {
        const look = expander(seenBy(job, this.facts), new Set());
        const cache = withPolicy(caches, (text) => expandText(text, look));
        if (cache === undefined) this.#report([base, "cache", "policy"], cachePolicyError);
        else instances.push(instanceOf(job, stageIndex, cache, this.facts.predefined));
      }
    }
    this.#stop();
    const names = new Set<string>();
    for (const { base, spec } of instances) {
      if (names.has(spec.name)) this.#report([base], `Two jobs are named ${spec.name}.`);
      names.add(spec.name);
    }
    this.#stop();
    return instances;
  }

  #checked<Schema extends z.ZodType>(schema: Schema, path: readonly [string]) {
    const value = this.root[path[0]];
    if (value === undefined || value === null) return undefined;
    return this.#problemsOf(schema.safeParse(value), path);
  }

  /** @param above the path of what was checked */
  #problemsOf<T>(
    result: z.ZodSafeParseResult<T>,
    above: readonly string[] | ((within: readonly PropertyKey[]) => readonly string[]),
  ): T | undefined {
    if (result.success) return result.data;
    for (const issue of result.error.issues) {
      const path = typeof above === "function" ? above(issue.path) : above;
      if (issue.code === "unrecognized_keys") {
        for (const key of issue.keys) {
          this.#report([...path, ...issue.path, key], "There is no such keyword here.");
        }
      } else this.#report([...path, ...issue.path], messageOf(issue));
    }
    return undefined;
  }

  #report(checked: readonly PropertyKey[], message: string): void {
    const path = writtenPath(this.root, checked);
    const mark = markAt(this.root, path, this.read.mark);
    const problem = problemAt(mark, path.map(String).join("."), message);
    // Jobs that parallel makes of one have the same mistakes.
    if (this.#problems.some((each) => isDeepStrictEqual(each, problem))) return;
    this.#problems.push(problem);
    if (this.#problems.length >= problemsMax) this.#stop();
  }

  #stop(): void {
    if (this.#problems.length > 0) throw new PipelineFileError(this.#problems.sort(byPlace));
  }

  #tooMany(): never {
    return failAt(this.read.mark, "", `The file makes more than ${jobsMax} jobs.`);
  }

  #mustBeStorable(jobs: readonly JobSpec[]): void {
    let bytes = 0;
    for (const job of jobs) {
      const own = Buffer.byteLength(JSON.stringify(job));
      if (own > jobBytesMax)
        this.#report([job.name], `The job takes more than ${jobBytesMax} bytes.`);
      bytes += own;
      if (bytes <= specBytesMax) continue;
      failAt(this.read.mark, "", `The jobs take more than ${specBytesMax} bytes together.`);
    }
    this.#stop();
  }
}

function byPlace(one: FileProblem, other: FileProblem): number {
  return one.line - other.line || one.column - other.column;
}

const isEdge = (stage: string): boolean => stage === ".pre" || stage === ".post";

function stagesOf(given: readonly string[] | undefined): readonly string[] {
  const own = (given ?? ["build", "test", "deploy"]).filter((stage) => !isEdge(stage));
  return [".pre", ...new Set(own), ".post"];
}

/** By stage; within one in the order of the file. */
function inOrder(jobs: readonly JobSpec[]): readonly JobSpec[] {
  return jobs.toSorted((a, b) => a.stageIndex - b.stageIndex);
}

const merged = (under: ReadonlyMap<string, string>, over: ReadonlyMap<string, string>) =>
  new Map([...under, ...over]);
