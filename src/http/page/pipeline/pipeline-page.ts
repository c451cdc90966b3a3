import { z } from "zod";

import { isFinished, PipelineStatus } from "../../../events/pipeline/status.ts";
import { allJobs } from "../../../projections/pipeline/query.ts";
import { ArtifactView } from "../../api/agent/artifact.ts";
import { JobView, PipelineView } from "../../api/pipeline/view.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { settingLinks } from "../cicd/place.ts";
import { commitPath, type Names, projectPath, query as queryOf } from "../common/address.ts";
import { button, mayPress, simpleAct } from "../common/form.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import {
  empty,
  noneListed,
  nothing,
  seen,
  shortHash,
  size,
  statusPiece,
  when,
} from "../common/piece.ts";
import { besides, projectPage } from "../common/project-page.ts";
import { livePath } from "../common/script.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page, type Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { Optional } from "../issue/issue-page.ts";
import { at, jobPath, pipelinePath } from "./address.ts";
import { pipelineGraph } from "./graph.ts";
import { cellId, cellTime } from "./live.ts";
import { parentLink, startedPiece } from "./related-piece.ts";
import { startAddress, startByPage, startForm } from "./start-form.ts";

type Pipeline = z.output<typeof PipelineView>;
type Job = z.output<typeof JobView>;

const jobsSize = 100;
/** A larger pipeline is shown as a table alone. */
const drawnJobsMax = 2_000;

/** A status that a script may move. */
export const liveStatus = (id: string, status: string): Html =>
  html`<span data-status="${id}">${statusPiece(status)}</span>`;

/** A field that is left empty filters nothing. */
const Ref = z
  .string()
  .max(nameLengthMax)
  .transform((name) => name.trim() || undefined)
  .optional();

const showPipelines = projectPage({
  path: `${at}/pipeline`,
  operationId: "showPipelines",
  query: z.object({ status: Optional, branch: Ref, tag: Ref, page: PageNumber }),
  tab: "pipelines",
  async show({ params, query: { page: number, ...filter }, visit, names: of, base }) {
    const input = { params, query: filter, page: { number, size: pageSize } };
    const listed = await visit.operations.list("listPipelines", PipelineView, input);
    const address = `${base}${projectPath(of)}/cicd/pipeline`;
    const rows = listed.items.map((one) =>
      row(
        html`<a href="${base}${pipelinePath(of, one.localId)}">#${one.localId}</a>`,
        statusPiece(one.status),
        seen(one.ref),
        html`<a href="${base}${commitPath(of, one.commitId)}"><code>${shortHash(one.commitId)}</code></a>`,
        one.source.replaceAll("_", " ").toLowerCase(),
        when(one.createdAt),
      ),
    );
    const next = html`They begin with a push once the project has a file <code>.forge-ci.yaml</code>.`;
    const mayStart = await mayPress(visit, "startPipeline", params);
    const links = await settingLinks(base, of, visit);
    const head = ["Pipeline", "Status", "Branch or tag", "Commit", "Started by", "Created"];
    return {
      title: "Pipelines",
      body: () => html`<section>${filterForm(address, filter)}
<p class="actions"><a href="${base}${projectPath(of)}/environment">Environments</a>${links}</p>
${rows.length === 0 ? noneListed(["pipeline", "pipelines"], { filter, address, next }) : tableOf("Pipelines", head, rows)}
${pager({ address: address + queryOf(filter), number, total: listed.totalElements })}</section>
${mayStart && html`<section aria-labelledby="start"><h2 id="start">Start a pipeline</h2>${startForm(startAddress(base, of), visit)}</section>`}`,
    };
  },
});

type Filter = Readonly<{
  status?: string | undefined;
  branch?: string | undefined;
  tag?: string | undefined;
}>;

function filterForm(address: string, { status, branch, tag }: Filter): Html {
  return html`<form class="filter" method="get" action="${address}" role="search"><div><label for="status">Status</label>
<select id="status" name="status"><option value="">any</option>${PipelineStatus.options.map(
    (id) =>
      html`<option value="${id}"${id === status && html` selected`}>${id.replaceAll("_", " ").toLowerCase()}</option>`,
  )}</select></div>
<div><label for="branch">Branch</label><input type="search" id="branch" name="branch" value="${branch}" maxlength="${nameLengthMax}"></div>
<div><label for="tag">Tag</label><input type="search" id="tag" name="tag" value="${tag}" maxlength="${nameLengthMax}"></div>
<button class="quiet">Filter</button></form>`;
}

/** What the variables of jobs name as the place of pipelines. */
const showAll = page({
  ...besides,
  path: at,
  operationId: "showAllPipelines",
  handle: async ({ params }) => ({ redirect: `${projectPath(params)}/cicd/pipeline` }),
});

const showPipeline = projectPage({
  path: `${at}/pipeline/{localId}`,
  operationId: "showPipeline",
  query: z.object({ page: PageNumber }),
  tab: "pipelines",
  async show({ params, query: { page: number }, visit, names: of, base }, deps) {
    const pipeline = await visit.operations.one("getPipeline", PipelineView, { params });
    const input = { params, page: { number, size: jobsSize } };
    const jobs = await visit.operations.list("listPipelineJobs", JobView, input);
    const isDrawn = jobs.totalElements <= drawnJobsMax;
    // The pipeline was found with the rights that its jobs take.
    const graph = isDrawn
      ? pipelineGraph(await allJobs(deps.db, pipeline.id), (id) => base + jobPath(of, id))
      : nothing("It has too many jobs to be drawn.");
    const address = base + pipelinePath(of, pipeline.localId);
    const mayRun = await mayPress(visit, "restartPipeline", params);
    const moves = !isFinished(pipeline.status) && visit.session !== undefined;
    const started = await startedPiece({ pipelineId: pipeline.id }, visit, deps);
    const parent = await parentLink(pipeline.id, visit, deps);
    return {
      title: `Pipeline #${pipeline.localId}`,
      ...(moves && { scripts: [livePath] }),
      body: () => html`<div${moves && html` data-live-status="${base}/page${pipelinePath(of, pipeline.localId)}/live"`}>
${aboutPiece(base, of, pipeline, { visit, mayRun, parent })}
<section aria-labelledby="jobs"><h2 id="jobs">Jobs</h2>${graph}
${jobTable(base, of, jobs.items)}
${pager({ address, number, size: jobsSize, total: jobs.totalElements })}</section></div>
${started}<p><a href="${address}/artifacts">Artifacts</a></p>`,
    };
  },
});

type May = Readonly<{
  visit: Visit;
  mayRun: boolean;
  /** To the pipeline that started this one. */
  parent: Html | undefined;
}>;

function aboutPiece(base: string, of: Names, pipeline: Pipeline, may: May): Html {
  const { visit, mayRun, parent } = may;
  const to = `${base}/page${pipelinePath(of, pipeline.localId)}`;
  const { id, status, ref, commitId, createdAt, finishedAt, failureReason, warnings } = pipeline;
  return html`<section aria-label="About" data-renewed-with="${id}"><dl>
<dt>Status</dt><dd>${liveStatus(id, status)}</dd>
${failureReason !== null && html`<dt>Failure</dt><dd>${seen(failureReason)}</dd>`}
${warnings.length > 0 && html`<dt>Warnings</dt>${warnings.map((each) => html`<dd>${seen(each)}</dd>`)}`}
<dt>Branch or tag</dt><dd>${seen(ref)}</dd>
<dt>Commit</dt><dd><a href="${base}${commitPath(of, commitId)}"><code>${shortHash(commitId)}</code></a></dd>
${parent !== undefined && html`<dt>Started by</dt><dd>${parent}</dd>`}
<dt>Created</dt><dd>${when(createdAt)}</dd>
${finishedAt !== null && html`<dt>Ended</dt><dd>${when(finishedAt)}</dd>`}</dl>
${
  mayRun &&
  html`<div class="actions">${isFinished(status) ? button(`${to}/restart`, visit, "Run failed jobs again") : button(`${to}/cancel`, visit, "Cancel")}</div>`
}</section>`;
}

function jobTable(base: string, of: Names, jobs: readonly Job[]): Html {
  if (jobs.length === 0) return nothing("No jobs.");
  const rows = jobs.map((job) =>
    row(
      html`<a href="${base}${jobPath(of, job.localId)}">${seen(job.name)}</a>`,
      seen(job.stageName),
      liveStatus(job.id, job.status),
      html`<span data-cell="${cellId(job.id, "started")}">${cellTime(job.startedAt)}</span>`,
      html`<span data-cell="${cellId(job.id, "ended")}">${cellTime(job.finishedAt)}</span>`,
    ),
  );
  return tableOf("Jobs", ["Job", "Stage", "Status", "Started", "Ended"], rows);
}

const showArtifacts = projectPage({
  path: `${at}/pipeline/{localId}/artifacts`,
  operationId: "showPipelineArtifacts",
  query: z.object({ page: PageNumber }),
  tab: "pipelines",
  async show({ params, query: { page: number }, visit, names: of, base }) {
    const input = { params, page: { number, size: pageSize } };
    const listed = await visit.operations.list("listPipelineArtifacts", ArtifactView, input);
    const address = `${base}${pipelinePath(of, params.localId)}/artifacts`;
    return {
      title: `Artifacts of pipeline #${params.localId}`,
      body: () => html`<section>${artifactTable(base, listed.items)}
${pager({ address, number, total: listed.totalElements })}
<p><a href="${base}${pipelinePath(of, params.localId)}">Back to the pipeline</a></p></section>`,
    };
  },
});

export function artifactTable(
  base: string,
  artifacts: readonly z.output<typeof ArtifactView>[],
): Html {
  if (artifacts.length === 0)
    return empty(
      "No artifacts.",
      html`Files that a job names under <code>artifacts</code> appear here.`,
    );
  const rows = artifacts.map((one) =>
    row(
      html`<a href="${base}${one.downloadUrl}">${seen(one.fileName)}</a>`,
      one.fileType,
      size(one.size),
      one.expireAt === null ? "never" : when(one.expireAt),
    ),
  );
  return tableOf("Artifacts", ["File", "Kind", "Size", "Expires"], rows);
}

const change = (verb: "restart" | "cancel"): PageRoute =>
  simpleAct({
    path: `${at}/pipeline/{localId}/${verb}`,
    operationId: `${verb}PipelineByPage`,
    apiOperation: `${verb}Pipeline`,
    back: (params) => pipelinePath(params, params.localId),
  });

export const pipelinePages: readonly PageRoute[] = [
  change("cancel"),
  change("restart"),
  showAll,
  showArtifacts,
  showPipeline,
  showPipelines,
  startByPage,
];
