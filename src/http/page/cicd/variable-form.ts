import type { z } from "zod";
import { VariableView } from "../../api/pipeline/variable.ts";
import { drawnForm, type FormPlace, projectForm } from "../common/form-page.ts";
import { areaField, boxes, lineField, selectField, type Typed, textOf } from "../common/sheet.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute } from "../core/route.ts";
import { mustBeAsSeen } from "../issue/form-page.ts";
import { variablesPath } from "./address.ts";
import { box, isTicked, neededAgain, versionOf, withoutSecret } from "./typed.ts";

type Variable = z.output<typeof VariableView>;

const at = "/project/{ownerAlias}/{projectAlias}/setting/cicd/variable";
const fields = ["key", "value", "type", "environmentScope", "mask", "protected", "description"];

const kinds = VariableView.shape.type.options.map((value) => ({
  value,
  words: value === "FILE" ? "file: jobs get the path of a file with the value" : "variable",
}));

/** @param variable that is edited */
function variableForm(place: FormPlace, variable?: Variable): Html {
  const typed = place.sheet;
  const isSecret = variable?.mask || isTicked(typed.typed, "mask");
  const sheet = isSecret ? withoutSecret(typed, "value") : typed;
  const mayKeep = variable?.mask === true && variable.value !== null;
  const value = {
    ...{ name: "value", label: "Value", rows: 4 },
    ...(mayKeep && { hint: "Empty: the present value stays." }),
    ...(variable?.value === null && { hint: "The present value is lost: set it again." }),
    ...(isSecret && !mayKeep && neededAgain(typed, "value")),
  };
  const version = variable && versionOf(typedOf(variable));
  return drawnForm(
    place,
    { label: "Variable", fields, version },
    html`${mayKeep && html`<input type="hidden" name="keepValue" value="true">`}
${lineField(sheet, { name: "key", label: "Key", required: true })}
${areaField(sheet, value)}
${selectField(sheet, { name: "type", label: "Kind", options: kinds })}
${lineField(sheet, { name: "environmentScope", label: "Environments", hint: "A name, or a part of it with *. Empty: all." })}
${boxes(sheet, { name: "mask", label: "Masked", options: box("Hide the value in logs of jobs, and on these pages") })}
${boxes(sheet, { name: "protected", label: "Protected", options: box("For protected branches and tags only") })}
${lineField(sheet, { name: "description", label: "Description" })}`,
  );
}

const newVariable = projectForm({
  path: `${at}/new`,
  operationIds: ["showNewProjectPipelineVariable", "createProjectPipelineVariableByPage"],
  tab: "pipelines",
  async show({ params, names: of, sheet, visit, base }) {
    await visit.operations.project("createProjectPipelineVariable", params);
    const place = { base, sheet, visit, back: variablesPath(of), words: "Create variable" };
    return { title: "New variable", body: variableForm(place) };
  },
  async send({ params, typed, visit }) {
    await visit.operations.run("createProjectPipelineVariable", { params, body: bodyOf(typed) });
    return variablesPath(params);
  },
});

const editVariable = projectForm({
  path: `${at}/{id}/edit`,
  operationIds: ["showProjectPipelineVariableToEdit", "editProjectPipelineVariableByPage"],
  tab: "pipelines",
  async show({ params, names: of, sheet, visit, base }) {
    await visit.operations.project("changeProjectPipelineVariable", params);
    const variable = await visit.operations.one("getProjectPipelineVariable", VariableView, {
      params,
    });
    const filled = sheet.failure === undefined ? { typed: typedOf(variable) } : sheet;
    const place = { base, sheet: filled, visit, back: variablesPath(of), words: "Save" };
    return { title: "Edit variable", body: variableForm(place, variable) };
  },
  async send({ params, typed, visit }) {
    const variable = await visit.operations.one("getProjectPipelineVariable", VariableView, {
      params,
    });
    mustBeAsSeen(typed, versionOf(typedOf(variable)));
    await visit.operations.run("changeProjectPipelineVariable", { params, body: bodyOf(typed) });
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
