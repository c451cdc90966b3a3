import { z } from "zod";

import { type Html, html } from "../../page/html.ts";
import { formStart } from "../../page/once.ts";
import type { PageRoute, Visit } from "../../page/route.ts";
import { VariableView } from "../../pipeline/variable.ts";
import { formPages } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import {
  areaField,
  boxes,
  lineField,
  type Sheet,
  selectField,
  sheetNotice,
  type Typed,
  textOf,
} from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { mustBeAsSeen } from "../issue/form-page.ts";
import { names } from "../pipeline/address.ts";
import { variablesPath } from "./address.ts";
import { box, isTicked, neededAgain, versionOf, withoutSecret } from "./typed.ts";

type Variable = z.output<typeof VariableView>;

const at = "/project/{ownerAlias}/{projectAlias}/setting/cicd/variable";
const fields = ["key", "value", "type", "environmentScope", "mask", "protected", "description"];

const kinds = VariableView.shape.type.options.map((value) => ({
  value,
  words: value === "FILE" ? "file: jobs get the path of a file with the value" : "variable",
}));

type VariableForm = Readonly<{
  sheet: Sheet;
  visit: Visit;
  /** The one that is edited. */
  variable?: Variable;
  /** Where it leads when nothing is sent. */
  back: string;
  words: string;
}>;

function variableForm(base: string, form: VariableForm): Html {
  const { sheet: typed, visit, variable, back, words } = form;
  const isSecret = variable?.mask || isTicked(typed.typed, "mask");
  const sheet = isSecret ? withoutSecret(typed, "value") : typed;
  const mayKeep = variable?.mask === true && variable.value !== null;
  const value = {
    ...{ name: "value", label: "Value", rows: 4 },
    ...(mayKeep && { hint: "Empty: the present value stays." }),
    ...(variable?.value === null && { hint: "The present value is lost: set it again." }),
    ...(isSecret && !mayKeep && neededAgain(typed, "value")),
  };
  return html`<section aria-label="Variable">${sheetNotice(typed, fields)}
<form method="post" action="${base}${visit.here.split("?", 1)[0]}">${formStart(visit)}
${variable && html`<input type="hidden" name="updatedAt" value="${versionOf(typedOf(variable))}">`}
${mayKeep && html`<input type="hidden" name="keepValue" value="true">`}
${lineField(sheet, { name: "key", label: "Key", required: true })}
${areaField(sheet, value)}
${selectField(sheet, { name: "type", label: "Kind", options: kinds })}
${lineField(sheet, { name: "environmentScope", label: "Environments", hint: "A name, or a part of it with *. Empty: all." })}
${boxes(sheet, { name: "mask", label: "Masked", options: box("Hide the value in logs of jobs, and on these pages") })}
${boxes(sheet, { name: "protected", label: "Protected", options: box("For protected branches and tags only") })}
${lineField(sheet, { name: "description", label: "Description" })}
<p class="actions"><button>${words}</button> <a href="${base}${back}">Cancel</a></p></form></section>`;
}

const newVariable = formPages({
  path: `${at}/new`,
  operationIds: ["showNewProjectPipelineVariable", "createProjectPipelineVariableByPage"],
  params: z.object(names),
  async show({ params, sheet, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    await visit.ask.project("createProjectPipelineVariable", params);
    const form = { sheet, visit, back: variablesPath(of), words: "Create variable" };
    const body = variableForm(baseOf(deps), form);
    return { title: "New variable", wide: true, lead: lead("pipelines"), body: () => body };
  },
  async send({ params, typed, visit }) {
    await visit.ask.run("createProjectPipelineVariable", { params, body: bodyOf(typed) });
    return variablesPath(params);
  },
});

const editVariable = formPages({
  path: `${at}/{id}/edit`,
  operationIds: ["showProjectPipelineVariableToEdit", "editProjectPipelineVariableByPage"],
  params: z.object({ ...names, id: z.string() }),
  async show({ params, sheet, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    await visit.ask.project("changeProjectPipelineVariable", params);
    const variable = await visit.ask.one("getProjectPipelineVariable", VariableView, { params });
    const filled = sheet.failure === undefined ? { typed: typedOf(variable) } : sheet;
    const form = { sheet: filled, visit, variable, back: variablesPath(of), words: "Save" };
    const body = variableForm(baseOf(deps), form);
    return { title: "Edit variable", wide: true, lead: lead("pipelines"), body: () => body };
  },
  async send({ params, typed, visit }) {
    const variable = await visit.ask.one("getProjectPipelineVariable", VariableView, { params });
    mustBeAsSeen(typed, versionOf(typedOf(variable)));
    await visit.ask.run("changeProjectPipelineVariable", { params, body: bodyOf(typed) });
    return variablesPath(params);
  },
});

/** Without a value that is masked. */
const typedOf = (variable: Variable): Typed => ({
  key: [variable.key],
  value: [variable.mask ? "" : (variable.value ?? "")],
  type: [variable.type],
  environmentScope: [variable.environmentScope ?? ""],
  mask: [String(variable.mask)],
  protected: [String(variable.protected)],
  description: [variable.description ?? ""],
});

function bodyOf(typed: Typed) {
  const text = (name: string) => textOf({ typed }, name);
  const keeps = isTicked(typed, "keepValue") && text("value") === "";
  return {
    key: text("key").trim(),
    ...(!keeps && { value: text("value") }),
    ...(text("type") !== "" && { type: text("type") }),
    environmentScope: text("environmentScope").trim() || null,
    mask: isTicked(typed, "mask"),
    protected: isTicked(typed, "protected"),
    description: text("description") || null,
  };
}

export const variableFormPages: readonly PageRoute[] = [...newVariable, ...editVariable];
