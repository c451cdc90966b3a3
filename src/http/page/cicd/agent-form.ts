import type { z } from "zod";

import { AgentView } from "../../api/agent/view.ts";
import { drawnForm, type FormPlace, projectForm } from "../common/form-page.ts";
import { boxes, lineField, type Typed, textOf } from "../common/sheet.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute } from "../core/route.ts";
import { mustBeAsSeen } from "../issue/form-page.ts";
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

function agentForm(place: FormPlace, agent: Agent): Html {
  const { sheet } = place;
  const tagsHint = "With commas between them. The agent takes jobs whose tags are all among these.";
  const timeout = { name: "maxTimeoutInSec", label: "Longest time of a job, in seconds" };
  return drawnForm(
    place,
    { label: "Agent", fields, version: versionOf(typedOf(agent)) },
    html`${lineField(sheet, { name: "name", label: "Name", required: true })}
${lineField(sheet, { name: "description", label: "Description" })}
${lineField(sheet, { name: "tags", label: "Tags", hint: tagsHint })}
${lineField(sheet, { ...timeout, hint: "Empty: the limit of each job counts." })}
${boxes(sheet, { name: "takes", label: "Jobs", options: choices })}`,
  );
}

const editAgent = projectForm({
  path: `${at}/{runnerUuid}/edit`,
  operationIds: ["showProjectAgentToEdit", "editProjectAgentByPage"],
  tab: "pipelines",
  async show({ params, names: of, sheet, visit, base }) {
    await visit.operations.project("changeProjectAgent", params);
    const agent = await visit.operations.one("getProjectAgent", AgentView, { params });
    const filled = sheet.failure === undefined ? { typed: typedOf(agent) } : sheet;
    const place = { base, sheet: filled, visit, back: agentsPath(of), words: "Save" };
    return { title: "Edit agent", body: agentForm(place, agent) };
  },
  async send({ params, typed, visit }) {
    const agent = await visit.operations.one("getProjectAgent", AgentView, { params });
    mustBeAsSeen(typed, versionOf(typedOf(agent)));
    await visit.operations.run("changeProjectAgent", { params, body: bodyOf(typed) });
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
