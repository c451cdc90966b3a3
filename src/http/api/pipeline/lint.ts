import { z } from "zod";

import { ObjectId } from "../../../events/core/ids.ts";
import { JobWhen } from "../../../events/pipeline/job-spec.ts";
import { nullObjectId } from "../../../git/name.ts";
import type { CompiledPipeline } from "../../../pipeline-file/compile.ts";
import { type FileProblem, PipelineFileError } from "../../../pipeline-file/value.ts";
import { addressesOf } from "../../../projections/project/address.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import { commitSource, pipelineFileNames } from "../../../services/pipeline/commit-source.ts";
import { isProtectedRef, pipelineFiles } from "../../../services/pipeline/create.ts";
import { factsOf } from "../../../services/pipeline/facts.ts";
import { predefinedVariables } from "../../../services/pipeline/predefined.ts";
import { userVariables } from "../../../services/pipeline/user-variable.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, nameLengthMax } from "../../core/schema.ts";
import { base, plainOrigin, writing } from "./found.ts";

const contentLengthMax = 600_000;

const Lint = z
  .object({
    content: z
      .string()
      .max(contentLengthMax)
      .meta({ examples: ["build:\n  script: make\n"] }),
    refName: z
      .string()
      .max(nameLengthMax)
      .min(1)
      .nullish()
      .meta({ examples: ["main"] }),
    isTag: bool().nullish(),
  })
  .meta({ id: "PipelineLint" });

const LintError = z.object({
  file: z.string(),
  line: z.int(),
  column: z.int(),
  key: z.string(),
  message: z.string(),
});

const LintView = z
  .object({
    valid: z.boolean(),
    errors: z.array(LintError),
    warnings: z.array(z.string()),
    jobs: z.array(
      z.object({
        name: z.string(),
        stage: z.string(),
        when: JobWhen,
        allowFailure: z.boolean(),
        needs: z.array(z.string()).nullable(),
        tags: z.array(z.string()),
        variables: z.record(z.string(), z.string()),
        environment: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: "PipelineLintResult" });

/** The commit of a project without commits. */
const emptyCommit = ObjectId.parse(nullObjectId("0".repeat(40)));

const postLint = route({
  ...writing,
  method: "post",
  path: `${base}/lint`,
  operationId: "lintPipelineFile",
  summary: "Check a pipeline file",
  description:
    "Answers the jobs as a pipeline of the branch or tag would have them, or what is wrong.",
  body: Lint,
  reply: LintView,
  async handle({ body, request: { project, userId } }, deps) {
    const isTag = body.refName ? body.isTag === true : false;
    const ref = body.refName || project.default_branch;
    const found = await findRef(deps.db, project.id, isTag ? "tag" : "branch", ref);
    const origin = {
      ...plainOrigin,
      ref,
      isTag,
      commitId: found?.commit_id ? ObjectId.parse(found.commit_id) : emptyCommit,
      source: "API",
      userId,
    } as const;
    const repository = await deps.git.ensure(project.id, project.default_branch);
    const ofCommit = await commitSource(repository, origin);
    const isProtected = await isProtectedRef(deps, project, origin);
    const more = new Map(Object.entries(await userVariables(deps, userId)));
    const addresses = addressesOf(deps, await deps.settings());
    const sources = { project, origin, ...ofCommit, isProtected, more, addresses };
    const predefined = predefinedVariables(sources);
    const facts = factsOf(deps, { repository, origin, predefined, outer: new Map() });
    const [fileName] = pipelineFileNames;
    const by = { user: userId, project: project.id };
    try {
      return linted(await pipelineFiles.compile({ text: body.content, fileName, ...by }, facts));
    } catch (error) {
      if (!(error instanceof PipelineFileError)) throw error;
      return { valid: false, errors: error.problems.map(asError), warnings: [], jobs: [] };
    }
  },
});

const asError = ({ ...problem }: FileProblem) => problem;

function linted({ jobs, warnings }: CompiledPipeline): z.input<typeof LintView> {
  return {
    valid: true,
    errors: [],
    warnings: [...warnings],
    jobs: jobs.map((job) => ({
      name: job.name,
      stage: job.stage,
      when: job.when,
      allowFailure: job.allowFailure.always,
      needs: job.needs?.map((need) => need.job) ?? null,
      tags: job.tags,
      variables: Object.fromEntries(job.variables.map(({ key, value }) => [key, value])),
      environment: job.environment?.name ?? null,
    })),
  };
}

export const lintRoutes: readonly Route[] = [postLint];
