import type { JobRow } from "../../../projections/pipeline/table.ts";
import { brief, seen } from "../common/piece.ts";
import { type Html, html } from "../core/html.ts";

type Job = Pick<JobRow, "id" | "local_id" | "name" | "stage" | "stage_index" | "needs" | "status">;

const box = { width: 200, height: 34, gapX: 60, gapY: 10, top: 34, left: 8 };
/** More lines than this only darken the picture. */
const edgesMax = 1_500;
const nameLengthMax = 22;

type Placed = Job & Readonly<{ x: number; y: number }>;

/** Stages as columns, their jobs as boxes that link to them, what a job needs as a line to it. */
export function pipelineGraph(jobs: readonly Job[], jobAddress: (localId: number) => string): Html {
  const stages = new Map<number, Job[]>();
  for (const job of jobs)
    stages.set(job.stage_index, [...(stages.get(job.stage_index) ?? []), job]);
  const columns = [...stages.entries()].sort(([a], [b]) => a - b).map(([, column]) => column);
  const placed = columns.flatMap((column, x) =>
    column.map((job, y) => ({ ...job, x: left(x), y: box.top + y * (box.height + box.gapY) })),
  );
  const rows = Math.max(0, ...columns.map(({ length }) => length));
  const width = left(columns.length) - box.gapX + box.left;
  const height = box.top + rows * (box.height + box.gapY);
  return html`<div class="graph" role="region" aria-label="Stages and jobs" tabindex="0"><svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
${columns.map((column, x) => html`<text x="${left(x)}" y="20" font-weight="700">${brief(column[0]?.stage ?? "", nameLengthMax)}</text>`)}
${edges(placed)}${placed.map((job) => boxOf(job, jobAddress))}</svg></div>`;
}

const left = (column: number): number => box.left + column * (box.width + box.gapX);

function edges(placed: readonly Placed[]): readonly Html[] {
  const byName = new Map(placed.map((job) => [job.name, job]));
  const all: Html[] = [];
  for (const job of placed) {
    for (const name of job.needs ?? []) {
      const needed = byName.get(name);
      if (needed === undefined || all.length >= edgesMax) continue;
      const [fromX, fromY] = [needed.x + box.width, needed.y + box.height / 2];
      const [toX, toY] = [job.x, job.y + box.height / 2];
      const bend = box.gapX / 2;
      all.push(
        html`<path class="edge" d="M${fromX} ${fromY}C${fromX + bend} ${fromY} ${toX - bend} ${toY} ${toX} ${toY}"></path>`,
      );
    }
  }
  return all;
}

function boxOf(
  { id, local_id, name, status, x, y }: Placed,
  jobAddress: (localId: number) => string,
): Html {
  const words = status.replaceAll("_", " ").toLowerCase();
  return html`<a href="${jobAddress(local_id ?? 0)}" class="s-${status.toLowerCase().replaceAll("_", "-")}" data-box="${id}"><title>${seen(name)}: ${words}</title>
<rect class="box" x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="6"></rect>
<circle class="mark" cx="${x + 17}" cy="${y + box.height / 2}" r="6"></circle>
<text x="${x + 32}" y="${y + 22}">${brief(name, nameLengthMax)}</text></a>`;
}
