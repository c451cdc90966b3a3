import { z } from "zod";
import { CreatedTriggerView, TriggerView } from "../../api/pipeline/trigger.ts";
import type { Names } from "../common/address.ts";
import { button, simpleAct } from "../common/form.ts";
import type { TitledPage } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, empty, when } from "../common/piece.ts";
import { besides } from "../common/project-page.ts";
import {
  FormFields,
  failureOf,
  lineField,
  type Sheet,
  sheetNotice,
  textOf,
  typedIn,
} from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { notice } from "../core/layout.ts";
import { formStart } from "../core/once.ts";
import { type PageDeps, type PageRoute, page, type Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { at } from "../pipeline/address.ts";
import { triggersPath } from "./address.ts";
import { ownersOf } from "./owner.ts";
import { backToPipelines, openTo } from "./place.ts";

type Trigger = z.output<typeof TriggerView>;

type Listed = Readonly<{
  params: Names;
  number?: number;
  visit: Visit;
  /** Of the form below the list. */
  sheet?: Sheet;
  /** Of the trigger that was created, in this answer alone. */
  token?: string;
}>;

async function triggersPage(listed: Listed, deps: PageDeps): Promise<TitledPage> {
  const { params, number = 0, visit, sheet = { typed: {} }, token } = listed;
  const { names: of, lead } = await inProject(visit.operations, params);
  const base = baseOf(deps);
  const input = { params, page: { number, size: pageSize } };
  const operationId = "listPipelineTriggers";
  const { items, totalElements: total } = await visit.operations.list(
    operationId,
    TriggerView,
    input,
  );
  const rows = await rowsOf(base, of, items, visit);
  const mayCreate = await visit.operations.may("createPipelineTrigger", params);
  const address = base + triggersPath(of);
  const next = "The holder of a trigger's token starts pipelines with the rights of its owner.";
  const created = html`The trigger was created. Copy its token now: it is not shown again.
<code class="secret">${token}</code>`;
  return {
    title: "Triggers",
    wide: true,
    lead: lead("pipelines"),
    body: () => html`${token !== undefined && notice(created, "done")}
<section>${rows.length === 0 ? empty("No triggers.", next) : tableOf("Triggers", ["Trigger", "Owner", "Created", ""], rows)}
${pager({ address, number, total })}</section>
${mayCreate && html`<section aria-labelledby="new"><h2 id="new">New trigger</h2>${createForm(`${base}/page${triggersPath(of)}/create`, visit, sheet)}</section>`}
${backToPipelines(base, of)}`,
  };
}

async function rowsOf(base: string, of: Names, triggers: readonly Trigger[], visit: Visit) {
  const ownerOf = await ownersOf(base, triggers, visit);
  const params = { ...of, id: triggers[0]?.id ?? "" };
  const may = await openTo(visit, params, ["deletePipelineTrigger"]);
  return triggers.map((one) => {
    const description = brief(one.description);
    const words = html`Delete<span class="hidden"> ${description || "trigger"}</span>`;
    const to = `${base}/page${triggersPath(of)}/${one.id}/delete`;
    return row(
      description || "–",
      ownerOf(one),
      when(one.createdAt),
      may.size > 0 && button(to, visit, words, { kind: "quiet danger" }),
    );
  });
}

function createForm(action: string, visit: Visit, sheet: Sheet): Html {
  const hint = "Where the token is used.";
  return html`${sheetNotice(sheet, ["description"])}
<form method="post" action="${action}">${formStart(visit)}
${lineField(sheet, { name: "description", label: "Description", hint })}
<button>Create trigger</button></form>`;
}

const showTriggers = page({
  ...besides,
  path: `${at}/trigger`,
  operationId: "showPipelineTriggers",
  query: z.object({ page: PageNumber }),
  handle: ({ params, query: { page: number }, visit }, deps) =>
    triggersPage({ params, number, visit }, deps),
});

const createTrigger = page({
  method: "post",
  path: `/page${at}/trigger/create`,
  operationId: "createPipelineTriggerByPage",
  access: "session",
  form: FormFields,
  async handle({ params, form, visit }, deps) {
    const typed = typedIn(form);
    const body = { description: textOf({ typed }, "description") };
    let created: z.output<typeof CreatedTriggerView>;
    try {
      const given = { params, body };
      created = await visit.operations.one("createPipelineTrigger", CreatedTriggerView, given);
    } catch (error) {
      const failure = failureOf(error, visit);
      const answer = await triggersPage({ params, visit, sheet: { typed, failure } }, deps);
      return { ...answer, status: failure.status };
    }
    return await triggersPage({ params, visit, token: created.token }, deps);
  },
});

const remove = simpleAct({
  path: `${at}/trigger/{id}/delete`,
  operationId: "deletePipelineTriggerByPage",
  apiOperation: "deletePipelineTrigger",
  back: (params) => triggersPath(params),
});

export const triggerPages: readonly PageRoute[] = [createTrigger, remove, showTriggers];
