import { z } from "zod";

import { isFinished } from "../../../events/pipeline/status.ts";
import { findJobById } from "../../../projections/pipeline/query.ts";
import { ArtifactView } from "../../api/agent/artifact.ts";
import { JobView } from "../../api/pipeline/view.ts";
import type { Names } from "../common/address.ts";
import { button, mayPress, simpleAct } from "../common/form.ts";
import { PageNumber } from "../common/pager.ts";
import { brief, nothing, seen, when } from "../common/piece.ts";
import { besides, projectPage } from "../common/project-page.ts";
import { livePath } from "../common/script.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page, type Visit } from "../core/route.ts";
import { at, jobPath, pipelinePath } from "./address.ts";
import { type LogPart, logPart } from "./log.ts";
import { artifactTable, liveStatus } from "./pipeline-page.ts";
import { startedPiece } from "./related-piece.ts";

type Job = z.output<typeof JobView>;

const showJob = projectPage({
  path: `${at}/job/{localId}`,
  operationId: "showJob",
  query: z.object({ part: PageNumber.optional() }),
  tab: "pipelines",
  async show({ params, query, visit, names, base }, deps) {
    const job = await visit.operations.one("getJob", JobView, { params });
    // Reading the log takes the rights that it declares.
    await visit.operations.project("getJobLog", params);
    const run = await findJobById(deps.db, job.id);
    const isOver = isFinished(job.status);
    const key = { job_id: job.id, attempt: run?.attempt ?? 0 };
    const whole = `${base}${jobPath(names, job.localId)}/log`;
    const log = await logPart(deps, key, { part: query.part, isOver, whole });
    const page = { number: 0, size: 100 };
    const artifacts = await visit.operations.list("listJobArtifacts", ArtifactView, {
      params,
      page,
    });
    const mayRun = await mayPress(visit, "playJob", params);
    // Any other job that is CREATED waits for earlier ones, and cannot be started.
    const startsAt = job.status === "CREATED" ? run?.delayed_until?.toISOString() : undefined;
    const started =
      run && (await startedPiece({ pipelineId: run.pipeline_id, jobId: job.id }, visit, deps));
    const isLast = log === undefined || log.part === log.parts - 1;
    const moves = !isOver && isLast && visit.session !== undefined;
    const to = `${base}/page${jobPath(names, job.localId)}`;
    const live = `${to}/live?at=${log?.at ?? 0}&line=${log?.lines ?? 0}`;
    const status = `${base}/page${pipelinePath(names, job.pipelineLocalId)}/live`;
    return {
      title: `Job ${brief(job.name, 60)}`,
      ...(moves && { scripts: [livePath] }),
      body: () => html`<div${moves && html` data-live-status="${status}"`}>${aboutPiece(base, names, job, { visit, mayRun, startsAt })}</div>
${started}${artifacts.items.length > 0 && html`<section aria-labelledby="artifacts"><h2 id="artifacts">Artifacts</h2>${artifactTable(base, artifacts.items)}</section>`}
<section aria-labelledby="log"><h2 id="log">Log</h2>${log && partsPiece(base + jobPath(names, job.localId), log)}
${log === undefined && !moves && nothing(started ? "A job that starts a pipeline has no log." : "The log is empty.")}
<div class="log code"${moves && html` data-live-log="${live}"`}>${log?.piece}</div>
${log !== undefined && html`<p><a href="${whole}">Whole log as text</a></p>`}</section>`,
    };
  },
});

type May = Readonly<{
  visit: Visit;
  mayRun: boolean;
  /** Of a delayed job that waits. */
  startsAt: string | undefined;
}>;

function aboutPiece(base: string, names: Names, job: Job, { visit, mayRun, startsAt }: May): Html {
  const to = `${base}/page${jobPath(names, job.localId)}`;
  const { id, status, stageName, ref, pipelineLocalId, startedAt, finishedAt } = job;
  const isWaiting = status === "MANUAL" || startsAt !== undefined;
  return html`<section aria-label="About" data-renewed-with="${id}"><dl>
<dt>Status</dt><dd>${liveStatus(id, status)}</dd>
${job.failureReason !== null && html`<dt>Failure</dt><dd>${job.failureReason}</dd>`}
${job.failureMessage !== null && html`<dt>Message</dt><dd>${seen(job.failureMessage)}</dd>`}
<dt>Pipeline</dt><dd><a href="${base}${pipelinePath(names, pipelineLocalId)}">#${pipelineLocalId}</a></dd>
<dt>Stage</dt><dd>${seen(stageName)}</dd><dt>Branch or tag</dt><dd>${seen(ref)}</dd>
${startsAt !== undefined && html`<dt>Starts</dt><dd>${when(startsAt)}</dd>`}
${startedAt !== null && html`<dt>Started</dt><dd>${when(startedAt)}</dd>`}
${finishedAt !== null && html`<dt>Ended</dt><dd>${when(finishedAt)}</dd>`}</dl>
${
  mayRun &&
  html`<div class="actions">${isWaiting && button(`${to}/play`, visit, "Start")}
${isFinished(status) && button(`${to}/restart`, visit, "Run again")}
${!isFinished(status) && button(`${to}/cancel`, visit, "Cancel")}</div>`
}</section>`;
}

/** Which part of a long log it is, and the way to the others. */
function partsPiece(address: string, { part, parts }: LogPart): Html | undefined {
  if (parts <= 1) return undefined;
  return html`<nav class="pager" aria-label="Parts of the log">
${part > 0 && html`<a href="${address}?part=0">First</a> <a rel="prev" href="${address}?part=${part - 1}">← Earlier</a>`}
<span>Part ${part + 1} of ${parts}</span>
${part < parts - 1 && html`<a rel="next" href="${address}?part=${part + 1}">Later →</a> <a href="${address}?part=${parts - 1}">Last</a>`}</nav>`;
}

const showLog = page({
  ...besides,
  path: `${at}/job/{localId}/log`,
  operationId: "showJobLog",
  handle: async ({ params, visit }) => ({
    stream: await visit.operations.stream("getJobLog", { params }),
  }),
});

const downloadArtifact = page({
  ...besides,
  path: `${at}/job/{localId}/artifact/{artifactUuid}/download`,
  operationId: "downloadArtifactInBrowser",
  handle: async ({ params, visit }) => ({
    stream: await visit.operations.stream("downloadArtifact", { params }),
  }),
});

const change = (verb: "play" | "restart" | "cancel"): PageRoute =>
  simpleAct({
    path: `${at}/job/{localId}/${verb}`,
    operationId: `${verb}JobByPage`,
    apiOperation: `${verb}Job`,
    back: (params) => jobPath(params, params.localId),
  });

export const jobPages: readonly PageRoute[] = [
  change("cancel"),
  change("play"),
  change("restart"),
  downloadArtifact,
  showJob,
  showLog,
];
