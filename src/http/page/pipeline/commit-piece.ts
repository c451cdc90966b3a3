import { listPipelines } from "../../../projections/pipeline/query.ts";
import { CommitStatusView } from "../../api/pipeline/commit-status.ts";
import type { Deps } from "../../core/deps.ts";
import type { Names } from "../common/address.ts";
import { mayPress } from "../common/form.ts";
import { seen, statusPiece, when } from "../common/piece.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import type { Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { pipelinePath } from "./address.ts";

/** Of each kind; the newest pipelines, and the statuses that come first by name. */
const shownMax = 20;

/** The pipelines of a commit, and what outside systems report of it; nothing where there is neither. */
export async function commitChecks(
  names: Names,
  hash: string,
  visit: Visit,
  deps: Deps,
): Promise<Html | undefined> {
  if (!(await mayPress(visit, "listPipelines", names))) return undefined;
  const { project } = await visit.operations.project("listPipelines", names);
  const base = baseOf(deps);
  const part = { limit: shownMax, offset: 0 };
  const pipelines = await listPipelines(deps.db, project.id, { commitId: hash }, part);
  const page = { number: 0, size: shownMax };
  const params = { ...names, hash };
  const statuses = await visit.operations.list("listCommitStatuses", CommitStatusView, {
    params,
    page,
  });
  const pipelineRows = pipelines.rows.map((one) =>
    row(
      html`<a href="${base}${pipelinePath(names, String(one.local_id))}">Pipeline #${one.local_id}</a>`,
      statusPiece(one.status),
      seen(one.ref),
      one.failure_reason === null ? "" : seen(one.failure_reason),
      when(one.created_at.toISOString()),
    ),
  );
  const statusRows = statuses.items.map((one) =>
    row(
      one.targetUrl === null
        ? seen(one.name)
        : html`<a href="${one.targetUrl}" rel="nofollow noreferrer">${seen(one.name)}</a>`,
      statusPiece(one.status),
      one.refName === null ? "" : seen(one.refName),
      one.description === null ? "" : seen(one.description),
      when(one.updatedAt),
    ),
  );
  const rows = [...pipelineRows, ...statusRows];
  if (rows.length === 0) return undefined;
  const more = pipelines.total + statuses.totalElements - rows.length;
  const head = ["Check", "Status", "Branch or tag", "Description", "Date"];
  return html`<section aria-labelledby="checks"><h2 id="checks">Pipelines and statuses</h2>
${tableOf("Pipelines and statuses", head, rows)}
${more > 0 && html`<p class="hint">${more} more are not shown.</p>`}</section>`;
}
