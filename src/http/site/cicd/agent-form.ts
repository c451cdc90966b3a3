import { z } from "zod";

import { AgentView } from "../../agent/view.ts";
import { type Html, html } from "../../page/html.ts";
import { formStart } from "../../page/once.ts";
import type { PageRoute, Visit } from "../../page/route.ts";
import { formPages } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import { boxes, lineField, type Sheet, sheetNotice, type Typed, textOf } from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { mustBeAsSeen } from "../issue/form-page.ts";
import { names } from "../pipeline/address.ts";
import { agentsPath } from "./address.ts";
import { at } from "./agent-list.ts";
import { versionOf } from "./typed.ts";

type Agent = z.output<typeof AgentView>;

const fields = ["name", "description", "tags", "maxTimeoutInSec", "takes"];

const choices = [
  { value: "isActive", words: "It is given jobs" },
  { value: "runUntagged", words: "Also jobs without tags" },
  { value: "isProtected", words: "Jobs of protected branches and tags only" },
] as const;

type AgentForm = Readonly<{ sheet: Sheet; visit: Visit; agent: Agent; back: string }>;

function agentForm(base: string, { sheet, visit, agent, back }: AgentForm): Html {
  const tagsHint = "With commas between them. The agent takes jobs whose tags are all among these.";
  const timeout = { name: "maxTimeoutInSec", label: "Longest time of a job, in seconds" };
  return html`<section aria-label="Agent">${sheetNotice(sheet, fields)}
<form method="post" action="${base}${visit.here.split("?", 1)[0]}">${formStart(visit)}
<input type="hidden" name="updatedAt" value="${versionOf(typedOf(agent))}">
${lineField(sheet, { name: "name", label: "Name", required: true })}
${lineField(sheet, { name: "description", label: "Description" })}
${lineField(sheet, { name: "tags", label: "Tags", hint: tagsHint })}
${lineField(sheet, { ...timeout, hint: "Empty: the limit of each job counts." })}
${boxes(sheet, { name: "takes", label: "Jobs", options: choices })}
<p class="actions"><button>Save</button> <a href="${base}${back}">Cancel</a></p></form></section>`;
}

const editAgent = formPages({
  path: `${at}/{runnerUuid}/edit`,
  operationIds: ["showProjectAgentToEdit", "editProjectAgentByPage"],
  params: z.object({ ...names, runnerUuid: z.string() }),
  async show({ params, sheet, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    await visit.ask.project("changeProjectAgent", params);
    const agent = await visit.ask.one("getProjectAgent", AgentView, { params });
    const filled = sheet.failure === undefined ? { typed: typedOf(agent) } : sheet;
    const form = { sheet: filled, visit, agent, back: agentsPath(of) };
    const body = agentForm(baseOf(deps), form);
    return { title: "Edit agent", wide: true, lead: lead("pipelines"), body: () => body };
  },
  async send({ params, typed, visit }) {
    const agent = await visit.ask.one("getProjectAgent", AgentView, { params });
    mustBeAsSeen(typed, versionOf(typedOf(agent)));
    await visit.ask.run("changeProjectAgent", { params, body: bodyOf(typed) });
    return agentsPath(params);
  },
});

const typedOf = (agent: Agent): Typed => ({
  name: [agent.name],
  description: [agent.description],
  tags: [agent.tags.join(", ")],
  maxTimeoutInSec: [String(agent.maxTimeoutInSec ?? "")],
  takes: [
    ...(agent.active ? ["isActive"] : []),
    ...(agent.runUntagged ? ["runUntagged"] : []),
    ...(agent.protected ? ["isProtected"] : []),
  ],
});

function bodyOf(typed: Typed) {
  const text = (name: string) => textOf({ typed }, name).trim();
  const chosen = new Set(typed["takes"]);
  const tags = text("tags").split(",");
  return {
    ...{ name: text("name"), description: text("description") },
    tags: tags.map((tag) => tag.trim()).filter((tag) => tag !== ""),
    maxTimeoutInSec: text("maxTimeoutInSec") || null,
    ...Object.fromEntries(choices.map(({ value }) => [value, chosen.has(value)])),
  };
}

export const agentFormPages: readonly PageRoute[] = editAgent;
