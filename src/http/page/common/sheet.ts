import { z } from "zod";

import type { FieldError } from "../../../platform/refusal.ts";
import { problemAnswer } from "../../core/errors.ts";
import type { Problem } from "../../core/problem.ts";
import { type Html, html } from "../core/html.ts";
import { notice } from "../core/layout.ts";
import type { Visit } from "../core/route.ts";

/** Beyond any text that an operation takes: the operation says what is too long. */
const textMax = 400_000;
const valuesMax = 1_000;

/** Fields of a form; one that comes several times is a list. */
export const FormFields = z.record(
  z.string().max(100),
  z.union([z.string().max(textMax), z.array(z.string().max(textMax)).max(valuesMax)]),
);

/** What a person typed or chose, by the name of the field. */
export type Typed = Readonly<Record<string, readonly string[]>>;

/** Why an operation refused what a form sent. */
export type Failure = Readonly<{ status: number; message: string; errors: readonly FieldError[] }>;

/** A form as it is shown: its values, and what was wrong with them when they were sent. */
export type Sheet = Readonly<{ typed: Typed; failure?: Failure | undefined }>;

/** Browsers send a line break of a text area as CR LF (HTML standard, form submission). */
export const typedIn = (fields: z.output<typeof FormFields>): Typed =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      [value].flat().map((text) => text.replaceAll("\r\n", "\n")),
    ]),
  );

export const textOf = ({ typed }: Pick<Sheet, "typed">, name: string): string =>
  typed[name]?.[0] ?? "";

/** After these the same form, sent again, is of no use: the change was made, or another login is needed. */
const final = new Set(["projection.lagging", "auth.session_over", "auth.token_invalid"]);

/**
 * What to show beside the form; throws again what a form cannot mend. A store that was away may have made the
 * change: the same sending, repeated by the browser, has one outcome, and a new form would make a second one.
 */
export function failureOf(error: unknown, visit: Pick<Visit, "here" | "requestId">): Failure {
  const { status, code, body } = problemAnswer(error, visit.here, visit.requestId);
  if (status === 500 || status === 503 || final.has(code)) throw error;
  const { message, errors = [] } = JSON.parse(body) as Problem;
  return { status, message, errors };
}

/** The field of the form that an error is about: an operation names the place within its body. */
const fieldOf = ({ field }: FieldError): string => field.split(".", 1)[0] ?? "";

/** Above the form: what is wrong with it as a whole, and with what it has no field for. */
export function sheetNotice({ failure }: Sheet, fields: readonly string[]): Html | undefined {
  if (failure === undefined) return undefined;
  const { errors, message } = failure;
  if (errors.every(({ field }) => field === "")) return notice(message);
  const others = errors.filter((error) => !fields.includes(fieldOf(error)));
  const words = others.map(({ field, message: text }) => (field ? `${field}: ${text}` : text));
  return notice(["Nothing was saved. Look at the fields below.", ...words].join(" "));
}

const plainWords: Readonly<Record<string, string>> = {
  "error.field.empty": "Fill this in.",
  "error.field.required": "Fill this in.",
  "error.field.too_long": "This is too long.",
};

type Field = Readonly<{ name: string; label: string; hint?: string }>;
type Around = Readonly<{ attributes: Html; below: Html }>;

/** What ties a field to its hint and its errors. */
function around({ failure }: Sheet, { name, hint }: Field): Around {
  const errors = failure?.errors.filter((error) => fieldOf(error) === name) ?? [];
  const id = `f-${name}`;
  const described = [hint && `${id}-hint`, errors.length > 0 && `${id}-error`].filter(Boolean);
  const isFirst = errors.length > 0 && failure?.errors[0] === errors[0];
  return {
    attributes: html`${described.length > 0 && html` aria-describedby="${described.join(" ")}"`}${errors.length > 0 && html` aria-invalid="true"`}${isFirst && html` autofocus`}`,
    below: html`${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}${
      errors.length > 0 &&
      html`<p class="error" id="${id}-error">${errors.map(({ code, message }) => plainWords[code] ?? message).join(" ")}</p>`
    }`,
  };
}

/** One line of text; `options` are offered by the browser while the person types. */
export function lineField(
  sheet: Sheet,
  field: Field & Readonly<{ required?: true; type?: "text" | "date"; options?: readonly string[] }>,
): Html {
  const { name, label, required, type = "text", options } = field;
  const { attributes, below } = around(sheet, field);
  return html`<div class="field"><label for="f-${name}">${label}</label>
<input type="${type}" id="f-${name}" name="${name}" value="${textOf(sheet, name)}" maxlength="4096"${required && html` required`}${options && html` list="f-${name}-list"`}${attributes}>
${options && html`<datalist id="f-${name}-list">${options.map((option) => html`<option value="${option}"></option>`)}</datalist>`}${below}</div>`;
}

/** A text of many lines. A browser drops the first line break behind the tag, so one is put there. */
export function areaField(
  sheet: Sheet,
  field: Field & Readonly<{ rows?: number; required?: true; lengthMax?: number; id?: string }>,
): Html {
  const { name, label, rows = 10, required, lengthMax = 65_536, id = `f-${name}` } = field;
  const { attributes, below } = around(sheet, field);
  return html`<div class="field"><label for="${id}">${label}</label>
<textarea id="${id}" name="${name}" rows="${rows}" maxlength="${lengthMax}"${required && html` required`}${attributes}>
${textOf(sheet, name)}</textarea>${below}</div>`;
}

export type Option = Readonly<{ value: string; words: string | Html }>;

/** One of several. */
export function selectField(
  sheet: Sheet,
  field: Field & Readonly<{ options: readonly Option[] }>,
): Html {
  const { name, label, options } = field;
  const { attributes, below } = around(sheet, field);
  const chosen = textOf(sheet, name);
  return html`<div class="field"><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}"${attributes}>${options.map(
    ({ value, words }) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${words}</option>`,
  )}</select>${below}</div>`;
}

/** Any of several, as boxes; a single one means yes. */
export function boxes(sheet: Sheet, field: Field & Readonly<{ options: readonly Option[] }>): Html {
  const { name, label, options } = field;
  const { attributes, below } = around(sheet, field);
  const chosen = new Set(sheet.typed[name]);
  return html`<fieldset${attributes}><legend>${label}</legend><div class="choices">${options.map(
    ({ value, words }) =>
      html`<label><input type="checkbox" name="${name}" value="${value}"${chosen.has(value) && html` checked`}> ${words}</label>`,
  )}</div>${below}</fieldset>`;
}
