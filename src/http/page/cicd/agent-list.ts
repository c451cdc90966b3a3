import type { z } from "zod";

import { AgentView } from "../../api/agent/view.ts";
import type { Names } from "../common/address.ts";
import { button, simpleAct } from "../common/form.ts";
import type { TitledPage } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import { pager, pageSize } from "../common/pager.ts";
import { brief, empty, nothing, seen, when } from "../common/piece.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import type { PageDeps, PageRoute, Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { agentPath, agentsPath } from "./address.ts";
import { backToPipelines, openTo } from "./place.ts";

type Agent = z.output<typeof AgentView>;

export const at = "/project/{ownerAlias}/{projectAlias}/runners";

const acts = ["shutDownProjectAgent", "changeProjectAgent", "deleteProjectAgent"] as const;

type Listed = Readonly<{
  params: Names;
  number?: number;
  visit: Visit;
  /** Below the list: how an agent is registered. */
  registration: (base: string, of: Names) => Html | undefined | false;
}>;

export async function agentsPage(
  { params, number = 0, visit, registration }: Listed,
  deps: PageDeps,
): Promise<TitledPage> {
  const { names: of, lead } = await inProject(visit.operations, params);
  const base = baseOf(deps);
  const input = { params, page: { number, size: pageSize } };
  const { items, totalElements: total } = await visit.operations.list(
    "listProjectAgents",
    AgentView,
    input,
  );
  const may = await openTo(visit, { ...params, runnerUuid: items[0]?.id ?? "" }, acts);
  const rows = items.map((one) =>
    row(
      html`${seen(one.name)}${one.description && nothing(brief(one.description))}`,
      one.active ? "active" : "paused",
      seen(one.tags.join(", ")) || "–",
      takes(one),
      one.connectedAt === null ? "never" : when(one.connectedAt),
      actsPiece(`${base}/page${agentPath(of, one.id)}`, one, { may, visit }),
    ),
  );
  const address = base + agentsPath(of);
  const next =
    "An agent runs the jobs of this project, beside those of its company and the instance.";
  return {
    title: "Agents",
    wide: true,
    lead: lead("pipelines"),
    body: () => html`<section>${rows.length === 0 ? empty("No agents.", next) : tableOf("Agents", ["Agent", "State", "Tags", "Takes", "Last contact", ""], rows)}
${pager({ address, number, total })}</section>
${registration(base, of)}
${backToPipelines(base, of)}`,
  };
}

const takes = (one: Agent): string =>
  `${one.runUntagged ? "all jobs" : "jobs with its tags"}${one.protected ? ", of protected branches and tags" : ""}`;

type May = Readonly<{ may: ReadonlySet<(typeof acts)[number]>; visit: Visit }>;

function actsPiece(to: string, { name, active }: Agent, { may, visit }: May): Html {
  const named = (verb: string) => html`${verb}<span class="hidden"> ${seen(name)}</span>`;
  const mayChange = may.has("changeProjectAgent");
  return html`<div class="actions">${active && may.has("shutDownProjectAgent") && button(`${to}/pause`, visit, named("Pause"))}
${!active && mayChange && button(`${to}/resume`, visit, named("Resume"))}
${mayChange && html`<a class="button quiet" href="${to}/edit">${named("Edit")}</a>`}
${may.has("deleteProjectAgent") && button(`${to}/delete`, visit, named("Delete"), { kind: "quiet danger" })}</div>`;
}

const pause = simpleAct({
  path: `${at}/{runnerUuid}/pause`,
  operationId: "pauseProjectAgentByPage",
  apiOperation: "shutDownProjectAgent",
  back: agentsPath,
});

const resume = simpleAct({
  path: `${at}/{runnerUuid}/resume`,
  operationId: "resumeProjectAgentByPage",
  apiOperation: "changeProjectAgent",
  back: agentsPath,
  body: () => ({ isActive: true }),
});

const remove = simpleAct({
  path: `${at}/{runnerUuid}/delete`,
  operationId: "deleteProjectAgentByPage",
  apiOperation: "deleteProjectAgent",
  back: agentsPath,
});

export const agentActPages: readonly PageRoute[] = [pause, remove, resume];
