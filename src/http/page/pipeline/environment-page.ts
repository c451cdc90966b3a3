import { z } from "zod";

import { EnvironmentState } from "../../../events/pipeline/environment.ts";
import { DeploymentView, EnvironmentView } from "../../api/pipeline/environment.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { commitPath, type Names, projectPath, query as queryOf } from "../common/address.ts";
import { button, mayPress, simpleAct } from "../common/form.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { noneListed, nothing, seen, shortHash, statusPiece, when } from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { type Html, html } from "../core/html.ts";
import { formStart } from "../core/once.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { filterForm, Optional } from "../issue/issue-page.ts";
import { jobPath, pipelinePath } from "./address.ts";

type Environment = z.output<typeof EnvironmentView>;
type Deployment = z.output<typeof DeploymentView>;

const at = "/project/{ownerAlias}/{projectAlias}/environment";

const environmentsPath = (of: Names): string => `${projectPath(of)}/environment`;
const environmentPath = (of: Names, id: string): string =>
  `${environmentsPath(of)}/${encodeURIComponent(id)}`;

const showEnvironments = projectPage({
  path: at,
  operationId: "showEnvironments",
  query: z.object({
    state: Optional,
    /** Named so by the form that lists of issues have as well. */
    status: Optional,
    q: z.string().max(nameLengthMax).optional(),
    page: PageNumber,
  }),
  tab: "environments",
  async show({ params, query: { page: number, state, status, q }, visit, names: of, base }) {
    const filter = { state: state ?? status, q: q === "" ? undefined : q };
    const input = { params, query: filter, page: { number, size: pageSize } };
    const listed = await visit.operations.list("listEnvironments", EnvironmentView, input);
    const address = base + environmentsPath(of);
    const [first] = listed.items;
    const mayStop =
      first !== undefined &&
      (await mayPress(visit, "stopEnvironment", { ...params, environmentId: first.id }));
    const rows = listed.items.map((one) =>
      row(
        html`<a href="${base}${environmentPath(of, one.id)}">${seen(one.name)}</a>`,
        statusPiece(one.state),
        one.lastDeployment && deploymentPiece(base, of, one.lastDeployment),
        addressPiece(one.url),
        mayStop && stopButton(base, of, one, visit),
      ),
    );
    const next = html`An environment appears when a job with <code>environment</code> deploys to it.`;
    const head = ["Environment", "State", "Last deployment", "Address", ""];
    return {
      title: "Environments",
      body: () => html`<section>${filterForm(address, EnvironmentState.options, { status: filter.state, q: filter.q })}
${rows.length === 0 ? noneListed(["environment", "environments"], { filter, address, next }) : tableOf("Environments", head, rows)}
${pager({ address: address + queryOf(filter), number, total: listed.totalElements })}</section>`,
    };
  },
});

/** The file of a pipeline names it: only what a browser opens as a page is a link. */
function addressPiece(url: string | null): Html | string | undefined {
  if (url === null) return undefined;
  if (!/^https?:\/\//i.test(url)) return seen(url);
  return html`<a href="${url}" rel="nofollow noreferrer">${seen(url)}</a>`;
}

function deploymentPiece(base: string, of: Names, deployment: Deployment): Html {
  const { number, commitId, ref, finishedAt, createdAt } = deployment;
  return html`#${number} ${seen(ref)} <a href="${base}${commitPath(of, commitId)}"><code>${shortHash(commitId)}</code></a>, ${when(finishedAt ?? createdAt)}`;
}

function stopButton(base: string, of: Names, { id, state, name }: Environment, visit: Visit) {
  if (state === "STOPPED") return undefined;
  const to = `${base}/page${environmentPath(of, id)}/stop`;
  const words = html`Stop<span class="hidden"> ${seen(name)}</span>`;
  return button(to, visit, words, { kind: "danger" });
}

const showEnvironment = projectPage({
  path: `${at}/{environmentId}`,
  operationId: "showEnvironment",
  query: z.object({ page: PageNumber }),
  tab: "environments",
  async show({ params, query: { page: number }, visit, names: of, base }) {
    const one = await visit.operations.one("getEnvironment", EnvironmentView, { params });
    const input = { params, page: { number, size: pageSize } };
    const listed = await visit.operations.list("listDeployments", DeploymentView, input);
    const address = base + environmentPath(of, one.id);
    const mayStop = await mayPress(visit, "stopEnvironment", params);
    const { state, tier, url, autoStopAt, createdAt } = one;
    return {
      title: seen(one.name),
      body: () => html`<section aria-label="About"><dl><dt>State</dt><dd>${statusPiece(state)}</dd>
<dt>Tier</dt><dd>${seen(tier)}</dd>
${url !== null && html`<dt>Address</dt><dd>${addressPiece(url)}</dd>`}
${autoStopAt !== null && html`<dt>Stops by itself</dt><dd>${when(autoStopAt)}</dd>`}
<dt>Created</dt><dd>${when(createdAt)}</dd></dl>
${mayStop && html`<div class="actions">${stopButton(base, of, one, visit)}</div>`}</section>
<section aria-labelledby="deployments"><h2 id="deployments">Deployments</h2>
${deploymentTable(base, of, listed.items)}
${pager({ address, number, total: listed.totalElements })}</section>`,
    };
  },
});

function deploymentTable(base: string, of: Names, deployments: readonly Deployment[]): Html {
  if (deployments.length === 0) return nothing("No deployments.");
  const rows = deployments.map((one) =>
    row(
      `#${one.number}`,
      statusPiece(one.status),
      html`${seen(one.ref)} <a href="${base}${commitPath(of, one.commitId)}"><code>${shortHash(one.commitId)}</code></a>`,
      one.jobLocalId !== null &&
        html`<a href="${base}${jobPath(of, one.jobLocalId)}">${seen(one.jobName ?? `#${one.jobLocalId}`)}</a>`,
      one.pipelineLocalId !== null &&
        html`<a href="${base}${pipelinePath(of, one.pipelineLocalId)}">#${one.pipelineLocalId}</a>`,
      when(one.finishedAt ?? one.createdAt),
    ),
  );
  const head = ["Deployment", "Status", "Branch or tag", "Job", "Pipeline", "Date"];
  return tableOf("Deployments", head, rows);
}

const stopOne = simpleAct({
  path: `${at}/{environmentId}/stop`,
  operationId: "stopEnvironmentByPage",
  apiOperation: "stopEnvironment",
  body: ({ force }) => ({ force: force === "true" }),
  back: (params) => environmentPath(params, params.environmentId),
  again: ({ action, visit }) =>
    html`<form method="post" action="${action}">${formStart(visit)}
<div class="choices"><label><input type="checkbox" name="force" value="true"> Stop without running its job</label></div>
<p><button class="danger">Stop</button></p></form>`,
});

export const environmentPages: readonly PageRoute[] = [showEnvironment, showEnvironments, stopOne];
