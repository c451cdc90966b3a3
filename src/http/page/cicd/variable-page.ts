import { z } from "zod";
import { VariableView } from "../../api/pipeline/variable.ts";
import { button, simpleAct } from "../common/form.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, empty, nothing, seen } from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { variablePath, variablesPath } from "./address.ts";
import { backToPipelines, openTo } from "./place.ts";

type Variable = z.output<typeof VariableView>;

const at = "/project/{ownerAlias}/{projectAlias}/setting/cicd/variable";

const valueLengthMax = 60;

const showVariables = projectPage({
  path: at,
  operationId: "showProjectPipelineVariables",
  query: z.object({ page: PageNumber }),
  tab: "pipelines",
  async show({ params, query: { page: number }, visit, names: of, base }) {
    const input = { params, page: { number, size: pageSize } };
    const operationId = "listProjectPipelineVariables";
    const { items, totalElements: total } = await visit.operations.list(
      operationId,
      VariableView,
      input,
    );
    const may = await openTo(visit, { ...params, id: items[0]?.id ?? "" }, [
      "changeProjectPipelineVariable",
      "deleteProjectPipelineVariable",
    ]);
    const mayCreate = await visit.operations.may("createProjectPipelineVariable", params);
    const rows = items.map((one) => {
      const to = `${base}/page${variablePath(of, one.id)}`;
      const named = (verb: string) => html`${verb}<span class="hidden"> ${one.key}</span>`;
      return row(
        html`<code>${seen(one.key)}</code>${one.description && nothing(brief(one.description))}`,
        valuePiece(one),
        one.type.toLowerCase(),
        one.environmentScope === null ? "all" : seen(one.environmentScope),
        yesOrNo(one.mask),
        yesOrNo(one.protected),
        html`<div class="actions">${may.has("changeProjectPipelineVariable") && html`<a class="button quiet" href="${to}/edit">${named("Edit")}</a>`}
${may.has("deleteProjectPipelineVariable") && button(`${to}/delete`, visit, named("Delete"), { kind: "quiet danger" })}</div>`,
      );
    });
    const address = base + variablesPath(of);
    return {
      title: "Variables",
      body: () => html`<section>${mayCreate && html`<p class="actions"><a class="button" href="${base}/page${variablesPath(of)}/new">New variable</a></p>`}
${rows.length === 0 ? empty("No variables.", "Jobs of this project get what is set here, beside the variables of its team or company.") : tableOf("Variables", head, rows)}
${pager({ address, number, total })}</section>
${backToPipelines(base, of)}`,
    };
  },
});

const head = ["Key", "Value", "Kind", "Environments", "Masked", "Protected", ""];

const yesOrNo = (value: boolean): string => (value ? "yes" : "no");

/** What is masked in logs is not shown here either. */
function valuePiece({ value, mask }: Variable): Html {
  if (mask) return nothing("hidden");
  if (value === null) return nothing("lost: set it again");
  return html`<code>${brief(value, valueLengthMax)}</code>`;
}

const remove = simpleAct({
  path: `${at}/{id}/delete`,
  operationId: "deleteProjectPipelineVariableByPage",
  apiOperation: "deleteProjectPipelineVariable",
  back: (params) => variablesPath(params),
});

export const variablePages: readonly PageRoute[] = [remove, showVariables];
