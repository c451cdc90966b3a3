import { z } from "zod";

import {
  type PipelineTriggerCommand,
  pipelineTrigger,
  triggerNotFound,
} from "../../../commands/pipeline/trigger.ts";
import { ObjectId } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { derivedToken, hashToken, tokenPrefixes } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findTrigger,
  listTriggers,
  pipelineTriggerProjection,
  type TriggerRow,
} from "../../../projections/pipeline/trigger.ts";
import { findProject } from "../../../projections/project/project.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import { actingRole } from "../../../projections/team/acting-role.ts";
import { mayRunOn } from "../../../services/pipeline/ref-right.ts";
import { startPipeline } from "../../../services/pipeline/start.ts";
import { placed, type Unplaced } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";
import { base, mustFindPipeline, plainOrigin, tag } from "./found.ts";
import { mustHaveStarted, VariableList, variableRecord } from "./pipeline.ts";
import { PipelineView, pipelineView } from "./view.ts";

const path = `${base}/trigger` as const;
const guarded = { tag, scope: "PROJECT_EDIT", access: "project:ADMIN" } as const;

export const TriggerView = z
  .object({ id: z.uuid(), description: z.string(), ownerId: z.uuid(), createdAt: instant() })
  .meta({ id: "PipelineTrigger" });
export const CreatedTriggerView = TriggerView.extend({
  token: z.string().meta({ description: "Shown once." }),
}).meta({ id: "CreatedPipelineTrigger" });

const viewOf = (row: TriggerRow): z.input<typeof TriggerView> => toView(TriggerView, row, {});

const getTriggers = route({
  ...guarded,
  method: "get",
  path,
  operationId: "listPipelineTriggers",
  summary: "List the pipeline triggers of a project",
  list: "pipelineTriggerList",
  asOf: { readModels: [pipelineTriggerProjection] },
  reply: TriggerView,
  handle: ({ page, request: { project } }, { db }) =>
    listed(listTriggers(db, project.id, page), viewOf),
});

async function write(
  order: Unplaced<PipelineTriggerCommand>,
  request: RequestFor<"project:ADMIN">,
  deps: Deps,
): Promise<void> {
  const command = placed<PipelineTriggerCommand>(order, request, deps);
  await request.execute(pipelineTrigger, order.triggerId, command);
}

const postTrigger = route({
  ...guarded,
  method: "post",
  path,
  operationId: "createPipelineTrigger",
  summary: "Create a pipeline trigger",
  description: "The holder of its token starts pipelines with the rights of its creator.",
  body: z
    .object({ description: z.string().max(1_000).default("") })
    .meta({ id: "NewPipelineTrigger" }),
  reply: CreatedTriggerView,
  secret: true,
  async handle({ body, request }, deps) {
    const triggerId = deterministicId(request.commandId, "pipeline trigger");
    const token = derivedToken(deps.vault, {
      ...{ prefix: tokenPrefixes.pipelineTrigger, purpose: "pipeline trigger" },
      of: request.commandId,
    });
    const order = { type: "CreateTrigger", triggerId, tokenHash: hashToken(token) } as const;
    await write({ ...order, description: body.description }, request, deps);
    const row = await findTrigger(deps.db, request.project.id, { id: triggerId });
    if (row === undefined) throw triggerNotFound();
    return { ...viewOf(row), token };
  },
});

const deleteTrigger = route({
  ...guarded,
  method: "delete",
  path: `${path}/{id}`,
  operationId: "deletePipelineTrigger",
  summary: "Delete a pipeline trigger",
  reply: "empty",
  async handle({ params, request }, deps) {
    const row = await findTrigger(deps.db, request.project.id, { id: params.id });
    if (row === undefined) throw triggerNotFound();
    await write({ type: "DeleteTrigger", triggerId: row.id }, request, deps);
  },
});

const Triggered = z
  .object({
    token: z.string().max(200),
    refName: z
      .string()
      .min(1)
      .max(255)
      .meta({ examples: ["main"] }),
    variables: VariableList,
  })
  .meta({ id: "TriggeredPipeline" });

/** The same for a wrong token and for a missing right of its owner: the answer does not distinguish them. */
function mayNot(): Refusal {
  return new Refusal("forbidden", "trigger.token_invalid", "The trigger token is not valid here.");
}

const postTriggered = route({
  tag,
  scope: "none",
  access: "anonymous",
  method: "post",
  path: `${path}/pipeline`,
  operationId: "triggerPipeline",
  summary: "Start a pipeline by a trigger token",
  description: "Needs no other authentication. `refName` is a branch, or else a tag.",
  body: Triggered,
  reply: PipelineView,
  async handle({ params, body, request }, deps) {
    const project = await findProject(deps.db, params.ownerAlias, params.projectAlias);
    if (project === undefined) {
      throw new Refusal("not_found", "project.not_found", "Project not found.");
    }
    const trigger = await findTrigger(deps.db, project.id, { token_hash: hashToken(body.token) });
    const role = trigger && (await actingRole(deps.db, project, trigger.owner_id));
    if (trigger === undefined || (role !== "DEVELOPER" && role !== "ADMIN")) throw mayNot();
    const branch = await findRef(deps.db, project.id, "branch", body.refName);
    const found = branch ?? (await findRef(deps.db, project.id, "tag", body.refName));
    if (!found?.commit_id) {
      const message = `There is no branch or tag ${body.refName}.`;
      throw new Refusal("not_found", "ref.not_found", message);
    }
    const origin = {
      ...plainOrigin,
      ref: body.refName,
      isTag: branch === undefined,
      commitId: ObjectId.parse(found.commit_id),
      source: "TRIGGER",
      userId: trigger.owner_id,
      startedBy: { kind: "TRIGGER", id: trigger.id },
    } as const;
    if (!(await mayRunOn(deps, project, trigger.owner_id, origin))) throw mayNot();
    const variables = variableRecord(body.variables);
    const started = await request.executeProcess(async (metadata) =>
      mustHaveStarted(await startPipeline(deps, { project, origin, variables, metadata })),
    );
    return pipelineView(await mustFindPipeline(deps, { project }, started.localId));
  },
});

export const triggerRoutes: readonly Route[] = [
  getTriggers,
  postTrigger,
  deleteTrigger,
  postTriggered,
];
