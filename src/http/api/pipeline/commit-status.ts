import { z } from "zod";

import { commitStatus } from "../../../commands/pipeline/commit-status.ts";
import { ObjectId } from "../../../events/core/ids.ts";
import { commitStatusId } from "../../../events/pipeline/commit-status.ts";
import { PipelineStatus } from "../../../events/pipeline/status.ts";
import { invariant } from "../../../platform/invariant.ts";
import {
  type CommitStatusRow,
  commitStatusProjection,
  findCommitStatus,
  listCommitStatuses,
} from "../../../projections/pipeline/commit-status.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";
import { mustFindCommit, refsAsOf } from "../repository/revision.ts";
import { reading, writing } from "./found.ts";

const path = "/project/{ownerAlias}/{projectAlias}/commit/{hash}/status";

export const CommitStatusView = z
  .object({
    name: z.string().meta({ examples: ["outside/build"] }),
    commitId: z.string(),
    status: PipelineStatus,
    refName: z.string().nullable(),
    targetUrl: z.string().nullable(),
    description: z.string().nullable(),
    userId: z.uuid(),
    createdAt: instant(),
    updatedAt: instant(),
  })
  .meta({ id: "CommitStatus" });

const viewOf = (row: CommitStatusRow): z.input<typeof CommitStatusView> =>
  toView(CommitStatusView, row, { refName: row.ref, userId: row.reported_by_id });

const httpUrl = z
  .url({ protocol: /^https?$/, error: "Use a URL of http or https." })
  .max(2_048)
  .nullish();

const Report = z
  .object({
    status: PipelineStatus,
    name: z
      .string()
      .trim()
      .min(1)
      .max(255)
      .meta({ examples: ["outside/build"] }),
    targetUrl: httpUrl.meta({ examples: ["https://ci.example.org/1"] }),
    description: z.string().max(1_000).nullish(),
    refName: z
      .string()
      .max(255)
      .nullish()
      .meta({ examples: ["main"] }),
  })
  .meta({ id: "CommitStatusReport" });

const getStatuses = route({
  ...reading,
  method: "get",
  path,
  operationId: "listCommitStatuses",
  summary: "List what systems outside say of a commit",
  list: "commitStatusList",
  asOf: { ...refsAsOf, readModels: [...refsAsOf.readModels, commitStatusProjection] },
  reply: CommitStatusView,
  async handle({ params, page, request: { project } }, deps) {
    const { commit } = await mustFindCommit(deps, project, params.hash);
    return listed(listCommitStatuses(deps.db, project.id, commit.id, page), viewOf);
  },
});

const postStatus = route({
  ...writing,
  method: "post",
  path,
  operationId: "reportCommitStatus",
  summary: "Report what a system outside says of a commit",
  description: "The last report of a name counts, for merge requests as well.",
  body: Report,
  reply: CommitStatusView,
  async handle({ params, body, request }, deps) {
    const { project, userId } = request;
    const { commit } = await mustFindCommit(deps, project, params.hash);
    const command = {
      type: "ReportCommitStatus",
      projectId: project.id,
      commitId: ObjectId.parse(commit.id),
      name: body.name,
      status: body.status,
      ref: body.refName ?? null,
      targetUrl: body.targetUrl ?? null,
      description: body.description ?? null,
      reportedById: userId,
      reportedAt: deps.now().toISOString(),
    } as const;
    const id = commitStatusId(project.id, commit.id);
    await request.execute(commitStatus, id, command);
    const row = await findCommitStatus(deps.db, project.id, commit.id, body.name);
    invariant(row !== undefined, "a reported status is shown");
    return viewOf(row);
  },
});

export const commitStatusRoutes: readonly Route[] = [getStatuses, postStatus];
