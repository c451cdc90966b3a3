import type { OperationInput } from "../../core/operation-client.ts";
import type { Names } from "../common/address.ts";
import { type Html, html } from "../core/html.ts";
import type { Visit } from "../core/route.ts";
import {
  agentsPath,
  pipelinesPath,
  schedulesPath,
  triggersPath,
  variablesPath,
} from "./address.ts";

/** The operations among these whose declared rights let the visitor in: only then are they offered. */
export async function openTo<Id extends string>(
  { operations }: Pick<Visit, "operations">,
  params: NonNullable<OperationInput["params"]>,
  operationIds: readonly Id[],
): Promise<ReadonlySet<Id>> {
  const open = await Promise.all(operationIds.map((id) => operations.may(id, params)));
  return new Set(operationIds.filter((_, index) => open[index]));
}

const places = [
  ["listPipelineSchedules", "Schedules", schedulesPath],
  ["listProjectPipelineVariables", "Variables", variablesPath],
  ["listPipelineTriggers", "Triggers", triggersPath],
  ["listProjectAgents", "Agents", agentsPath],
] as const;

/** Links to what is set for pipelines, each for those who may read it. */
export async function settingLinks(base: string, of: Names, visit: Visit): Promise<Html> {
  const open = await openTo(
    visit,
    of,
    places.map(([operationId]) => operationId),
  );
  return html`${places.map(
    ([operationId, title, pathOf]) =>
      open.has(operationId) && html` <a href="${base}${pathOf(of)}">${title}</a>`,
  )}`;
}

/** Below a list of what is set for pipelines. */
export const backToPipelines = (base: string, of: Names): Html =>
  html`<p><a href="${base}${pipelinesPath(of)}">Back to the pipelines</a></p>`;
