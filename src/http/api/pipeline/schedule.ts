import { z } from "zod";
import {
  notOwner,
  type PipelineScheduleCommand,
  pipelineSchedule,
  scheduleNotFound,
} from "../../../commands/pipeline/schedule.ts";
import type { ScheduleSettings } from "../../../events/pipeline/schedule.ts";
import { projectSubject } from "../../../events/project/project.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { CronError, checkCron, nextRun } from "../../../platform/time/cron.ts";
import {
  findSchedule,
  listSchedules,
  pipelineScheduleProjection,
  type ScheduleRow,
} from "../../../projections/pipeline/schedule.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import { mustMayRunOn } from "../../../services/pipeline/ref-right.ts";
import { refOf, runSchedule } from "../../../services/pipeline/run-schedule.ts";
import { placed, type Unplaced } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, instant, invalid } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";
import { base, mustFindPipeline, reading, writing } from "./found.ts";
import { mustHaveStarted, VariableList, variableRecord } from "./pipeline.ts";
import { PipelineView, pipelineView } from "./view.ts";

const path = `${base}/schedule` as const;

export const ScheduleView = z
  .object({
    id: z.uuid(),
    description: z.string(),
    cron: z.string().meta({ examples: ["0 3 * * *"] }),
    timezone: z.string().meta({ examples: ["Europe/Berlin"] }),
    refName: z.string().meta({ examples: ["main"] }),
    isTag: z.boolean(),
    active: z.boolean(),
    variables: z.array(z.object({ key: z.string() })).meta({
      description: "Values are not shown again.",
    }),
    ownerId: z.uuid().meta({ description: "It runs with the rights of this user." }),
    nextRunAt: instant().nullable(),
    lastRunAt: instant().nullable(),
    createdAt: instant(),
  })
  .meta({ id: "PipelineSchedule" });

const Fields = {
  description: z.string().max(1_000),
  cron: z
    .string()
    .max(100)
    .meta({ examples: ["0 3 * * *"] }),
  timezone: z
    .string()
    .max(100)
    .meta({ examples: ["Europe/Berlin"] }),
  refName: z
    .string()
    .min(1)
    .max(255)
    .meta({ examples: ["main"] }),
  isTag: bool(),
  active: bool(),
};
const NewSchedule = z
  .object({
    ...Fields,
    description: Fields.description.default(""),
    timezone: Fields.timezone.default("UTC"),
    isTag: Fields.isTag.default(false),
    active: Fields.active.default(true),
    variables: VariableList,
  })
  .meta({ id: "NewPipelineSchedule" });
const ChangedSchedule = z
  .object(Fields)
  .partial()
  .extend({ variables: VariableList })
  .meta({ id: "ChangedPipelineSchedule" });

type Writing = RequestFor<"project:DEVELOPER">;

async function viewOf(row: ScheduleRow, { vault }: Deps): Promise<z.input<typeof ScheduleView>> {
  const text = row.variables === null ? null : await vault.open(row.variables);
  const keys = text === null ? [] : Object.keys(JSON.parse(text) as object);
  return toView(ScheduleView, row, {
    refName: row.ref,
    variables: keys.map((key) => ({ key })),
  });
}

/** @throws Refusal 404, also for a schedule of another project */
const found = oneInProject(findSchedule, scheduleNotFound);

/** One of the caller. @throws Refusal 403 `schedule.not_owner` */
async function foundOwn(...[deps, request, id]: [Deps, Writing, string]): Promise<ScheduleRow> {
  const row = await found(deps, request, id);
  if (row.owner_id !== request.userId) throw notOwner();
  return row;
}

/** When it runs next. @throws Refusal 422 naming the field */
function nextRunOf(
  { cron, timezone, active }: Pick<ScheduleSettings, "cron" | "timezone" | "active">,
  now: Date,
): string | null {
  try {
    checkCron(cron, timezone, now);
    return active ? (nextRun(cron, timezone, now)?.toISOString() ?? null) : null;
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    const field = /time ?zone/i.test(error.message) ? "timezone" : "cron";
    throw invalid([{ field, code: "schedule.invalid", message: error.message }]);
  }
}

/** @throws Refusal 404 `ref.not_found` */
async function mustExist(
  { db }: Pick<Deps, "db">,
  { project }: Pick<Writing, "project">,
  { ref, isTag }: Pick<ScheduleSettings, "ref" | "isTag">,
): Promise<void> {
  const kind = isTag ? "tag" : "branch";
  const named = await findRef(db, project.id, kind, ref);
  if (named?.commit_id) return;
  const what = named === undefined ? "There is no" : "There is no commit behind the";
  throw new Refusal("not_found", "ref.not_found", `refName: ${what} ${kind} ${ref}.`);
}

async function sealedVariables(
  { vault }: Deps,
  { project }: Pick<Writing, "project">,
  list: z.output<typeof VariableList>,
): Promise<ScheduleSettings["variables"]> {
  const variables = variableRecord(list);
  if (Object.keys(variables).length === 0) return null;
  return vault.seal(projectSubject(project.id), JSON.stringify(variables));
}

async function write(
  order: Unplaced<PipelineScheduleCommand>,
  request: Writing,
  deps: Deps,
): Promise<void> {
  const command = placed<PipelineScheduleCommand>(order, request, deps);
  await request.execute(pipelineSchedule, order.scheduleId, command);
}

const getSchedules = route({
  ...reading,
  method: "get",
  path,
  operationId: "listPipelineSchedules",
  summary: "List the pipeline schedules of a project",
  list: "pipelineScheduleList",
  asOf: { readModels: [pipelineScheduleProjection] },
  reply: ScheduleView,
  handle: ({ page, request: { project } }, deps) =>
    listed(listSchedules(deps.db, project.id, page), (row) => viewOf(row, deps)),
});

const getSchedule = route({
  ...reading,
  method: "get",
  path: `${path}/{id}`,
  operationId: "getPipelineSchedule",
  summary: "Get a pipeline schedule",
  asOf: { readModels: [pipelineScheduleProjection] },
  reply: ScheduleView,
  handle: async ({ params, request }, deps) => viewOf(await found(deps, request, params.id), deps),
});

const postSchedule = route({
  ...writing,
  method: "post",
  path,
  operationId: "createPipelineSchedule",
  summary: "Create a pipeline schedule",
  description: "It runs with the rights of who creates it, every five minutes at most.",
  body: NewSchedule,
  reply: ScheduleView,
  async handle({ body, request }, deps) {
    const scheduleId = deterministicId(request.commandId, "pipeline schedule");
    const { variables, refName: ref, ...rest } = body;
    const settings = { ...rest, ref, variables: await sealedVariables(deps, request, variables) };
    const nextRunAt = nextRunOf(settings, deps.now());
    const { project, userId } = request;
    await mustMayRunOn(deps, project, userId, { ...settings, mergeRequest: null });
    await mustExist(deps, request, settings);
    await write({ type: "CreateSchedule", scheduleId, settings, nextRunAt }, request, deps);
    return viewOf(await found(deps, request, scheduleId), deps);
  },
});

const putSchedule = route({
  ...writing,
  method: "put",
  path: `${path}/{id}`,
  operationId: "changePipelineSchedule",
  summary: "Change a pipeline schedule",
  description:
    "What is left out stays. 403 `schedule.not_owner` for others than its owner, who may take it over.",
  body: ChangedSchedule,
  reply: ScheduleView,
  async handle({ params, body, request }, deps) {
    const row = await foundOwn(deps, request, params.id);
    const settings = {
      description: body.description ?? row.description,
      cron: body.cron ?? row.cron,
      timezone: body.timezone ?? row.timezone,
      ref: body.refName ?? row.ref,
      isTag: body.isTag ?? row.is_tag,
      active: body.active ?? row.active,
      ...(body.variables !== undefined && {
        variables: await sealedVariables(deps, request, body.variables),
      }),
    };
    const nextRunAt = nextRunOf(settings, deps.now());
    const { project, userId } = request;
    await mustMayRunOn(deps, project, userId, { ...settings, mergeRequest: null });
    // One whose branch is gone may still be turned off and renamed.
    const isElsewhere = settings.ref !== row.ref || settings.isTag !== row.is_tag;
    if (isElsewhere) await mustExist(deps, request, settings);
    const order = { type: "ChangeSchedule", scheduleId: row.id, settings, nextRunAt } as const;
    await write(order, request, deps);
    return viewOf(await found(deps, request, row.id), deps);
  },
});

const deleteSchedule = route({
  ...writing,
  method: "delete",
  path: `${path}/{id}`,
  operationId: "deletePipelineSchedule",
  summary: "Delete a pipeline schedule",
  description: "403 `schedule.not_owner` for others than its owner.",
  reply: "empty",
  async handle({ params, request }, deps) {
    const { id: scheduleId } = await foundOwn(deps, request, params.id);
    await write({ type: "DeleteSchedule", scheduleId }, request, deps);
  },
});

const playSchedule = route({
  ...writing,
  method: "post",
  path: `${path}/{id}/play`,
  operationId: "playPipelineSchedule",
  summary: "Start the pipeline of a schedule now",
  description: "403 `schedule.not_owner` for others than its owner.",
  reply: PipelineView,
  async handle({ params, request }, deps) {
    const row = await foundOwn(deps, request, params.id);
    await mustMayRunOn(deps, request.project, request.userId, refOf(row));
    const started = await request.executeProcess(async (metadata) => {
      const result = await runSchedule(deps, row, metadata);
      if (result !== undefined) return mustHaveStarted(result);
      throw new Refusal("not_found", "ref.not_found", `There is no ${row.ref} any more.`);
    });
    return pipelineView(await mustFindPipeline(deps, request, started.localId));
  },
});

const takeOverSchedule = route({
  ...writing,
  method: "post",
  path: `${path}/{id}/take-over`,
  operationId: "takeOverPipelineSchedule",
  summary: "Become the owner of a pipeline schedule",
  description:
    "For those who may run jobs on its branch or tag: from now on it runs with their rights, and they alone change it. " +
    "Variables that another person wrote are dropped.",
  reply: ScheduleView,
  async handle({ params, request }, deps) {
    const row = await found(deps, request, params.id);
    await mustMayRunOn(deps, request.project, request.userId, refOf(row));
    await write({ type: "TakeOverSchedule", scheduleId: row.id }, request, deps);
    return viewOf(await found(deps, request, row.id), deps);
  },
});

export const scheduleRoutes: readonly Route[] = [
  getSchedule,
  getSchedules,
  postSchedule,
  putSchedule,
  deleteSchedule,
  playSchedule,
  takeOverSchedule,
];
