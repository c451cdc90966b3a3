import { type Names, projectPath } from "../common/address.ts";
import { simpleAct } from "../common/form.ts";
import { boxes, lineField, type Sheet } from "../common/sheet.ts";
import { type Html, html } from "../core/html.ts";
import { formStart } from "../core/once.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { at } from "./address.ts";

/** Where a pipeline is started. @param base of all addresses */
export const startAddress = (base: string, of: Names): string =>
  `${base}/page${projectPath(of)}/cicd/pipeline/start`;

/** The branch or tag that a pipeline is started for, and the button. */
export function startForm(action: string, visit: Visit, sheet: Sheet = { typed: {} }): Html {
  const hint = "Leave it empty for the default branch.";
  const yes = [{ value: "true", words: "It is a tag" }];
  return html`<form method="post" action="${action}">${formStart(visit)}
${lineField(sheet, { name: "refName", label: "Branch or tag", hint })}
${boxes(sheet, { name: "isTag", label: "Kind", options: yes })}
<button>Start a pipeline</button></form>`;
}

export const startByPage: PageRoute = simpleAct({
  path: `${at}/pipeline/start`,
  operationId: "startPipelineByPage",
  apiOperation: "startPipeline",
  body: ({ refName = "", isTag }) =>
    refName.trim() === "" ? {} : { refName: refName.trim(), isTag: isTag === "true" },
  back: (params) => `${projectPath(params)}/cicd/pipeline`,
  again: ({ action, sheet, visit }) => startForm(action, visit, sheet),
});
