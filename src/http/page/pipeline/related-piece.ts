import { parentPipeline, startedPipelines } from "../../../projections/pipeline/related.ts";
import type { PipelineRow } from "../../../projections/pipeline/table.ts";
import { findProjectById } from "../../../projections/project/project.ts";
import type { Deps } from "../../core/deps.ts";
import type { Names } from "../common/address.ts";
import { seen, statusPiece, when } from "../common/piece.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import type { Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { pipelinePath } from "./address.ts";

const shownMax = 50;

/** The pipelines that a pipeline, or one of its jobs, started; nothing where the visitor may see none. */
export async function startedPiece(
  of: Readonly<{ pipelineId: string; jobId?: string }>,
  visit: Visit,
  deps: Deps,
): Promise<Html | undefined> {
  const { pipelineId, ...job } = of;
  const found = await startedPipelines(deps.db, pipelineId, { ...job, countMax: shownMax });
  const shown = await readable(found, visit, deps);
  if (shown.length === 0) return undefined;
  const rows = shown.map((one) => {
    const { status, ref, created_at } = one.pipeline;
    const created = when(created_at.toISOString());
    return row(linkTo(one, baseOf(deps)), statusPiece(status), seen(ref), created);
  });
  const head = ["Pipeline", "Status", "Branch or tag", "Created"];
  return html`<section aria-labelledby="started"><h2 id="started">Started pipelines</h2>
${tableOf("Started pipelines", head, rows)}</section>`;
}

/** A link to the pipeline whose job started this one, for those who may see it. */
export async function parentLink(
  pipelineId: string,
  visit: Visit,
  deps: Deps,
): Promise<Html | undefined> {
  const parent = await parentPipeline(deps.db, pipelineId);
  const [one] = await readable(parent === undefined ? [] : [parent], visit, deps);
  return one && linkTo(one, baseOf(deps));
}

type Named = Readonly<{ pipeline: PipelineRow; names: Names }>;

const linkTo = ({ pipeline: { local_id }, names }: Named, base: string): Html =>
  html`<a href="${base}${pipelinePath(names, String(local_id))}">${seen(`${names.ownerAlias}/${names.projectAlias}`)} #${local_id}</a>`;

/** They may be of other projects, which have rights of their own. */
async function readable(
  pipelines: readonly PipelineRow[],
  { operations }: Visit,
  { db }: Deps,
): Promise<readonly Named[]> {
  const allowed = new Map<string, Names>();
  for (const id of new Set(pipelines.map((pipeline) => pipeline.project_id))) {
    const project = await findProjectById(db, id);
    if (project === undefined) continue;
    const names = { ownerAlias: project.owner_alias, projectAlias: project.alias };
    if (await operations.may("listPipelines", names)) allowed.set(id, names);
  }
  return pipelines.flatMap((pipeline) => {
    const names = allowed.get(pipeline.project_id);
    return names === undefined ? [] : [{ pipeline, names }];
  });
}
