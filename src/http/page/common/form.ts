import type { z } from "zod";

import type { OperationInput } from "../../core/operation-client.ts";
import type { RoutePath } from "../../core/route.ts";
import { type Html, html } from "../core/html.ts";
import { formStart, withoutStart } from "../core/once.ts";
import {
  type LoggedIn,
  type PageDeps,
  type PageRoute,
  type ParamsIn,
  page,
  type Visit,
} from "../core/route.ts";
import type { Names } from "./address.ts";
import type { TitledPage } from "./form-page.ts";
import { inProject } from "./frame.ts";
import {
  areaField,
  FormFields,
  failureOf,
  type Sheet,
  sheetNotice,
  type Typed,
  typedIn,
} from "./sheet.ts";
import { baseOf } from "./text.ts";

export type Fields = Readonly<Record<string, string | undefined>>;

const hidden = (fields: Fields): readonly Html[] =>
  Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );

/** A button that posts nothing but where it stands. */
export function button(
  action: string,
  visit: Visit,
  words: string | Html,
  {
    kind = "quiet",
    fields = {},
  }: Readonly<{ kind?: "" | "quiet" | "danger" | "quiet danger"; fields?: Fields }> = {},
): Html {
  return html`<form method="post" action="${action}">${formStart(visit)}${hidden(fields)}<button class="${kind}">${words}</button></form>`;
}

/** Whether the visitor has the rights that this operation declares: only then is its button shown. */
export const mayPress = async (
  { session, operations }: Visit,
  operationId: string,
  params: NonNullable<OperationInput["params"]>,
): Promise<boolean> => session !== undefined && (await operations.may(operationId, params));

type TextForm = Readonly<{ id: string; label: string; words: string; fields?: Fields }>;

/** A field for a text in Markdown, and the button that posts it. */
export function textForm(
  action: string,
  visit: Visit,
  { id, label, words, fields = {} }: TextForm,
  sheet: Sheet = { typed: {} },
): Html {
  return html`<form method="post" action="${action}">${formStart(visit)}${hidden(fields)}
${areaField(sheet, { id, name: "text", label, rows: 4, required: true })}
<button>${words}</button></form>`;
}

type Act<Path extends RoutePath, Params> = Readonly<{
  /** Below `/page`. */
  path: Path;
  operationId: string;
  /** Of what the path names, where that is more than a text. */
  params?: z.ZodObject;
  /** Calls the operations. */
  run: (input: Readonly<{ params: Params; fields: Fields; visit: Visit }>) => Promise<void>;
  /** Where the person goes then, or back to when it was refused. */
  back: (params: Params, fields: Fields) => string;
  /** The form again, with what was typed; without one a text that was sent is shown again. */
  again?: (input: Readonly<{ action: string; sheet: Sheet; visit: Visit }>) => Html;
  /** What the operation calls the field `text`. */
  textIs?: string;
}>;

/**
 * A form of a page: it calls operations, with their rights, and redirects back. Their refusals are
 * shown on a page that holds the form again as it was filled in.
 */
export const act = <const Path extends RoutePath>(declared: Act<Path, ParamsIn<Path>>): PageRoute =>
  acting<ParamsIn<Path>>(declared);

function acting<Params>(declared: Act<RoutePath, Params>): PageRoute {
  const { path, operationId, params, run, back } = declared;
  return page({
    method: "post",
    path: `/page${path}`,
    operationId,
    access: "session",
    ...(params && { params }),
    form: FormFields,
    async handle(input, deps) {
      const { form, visit } = input;
      // The type of what the path names is lost among those of all pages.
      const of = input.params as Params;
      const typed = typedIn(form);
      try {
        await run({ params: of, fields: firstOf(typed), visit });
        return { redirect: back(of, firstOf(typed)) };
      } catch (error) {
        return await refusedPage(error, { declared, params: of, typed, visit }, deps);
      }
    },
  });
}

const firstOf = (typed: Typed): Fields =>
  Object.fromEntries(Object.entries(typed).map(([name, values]) => [name, values[0]]));

type Refused<Params> = Readonly<{
  declared: Act<RoutePath, Params>;
  params: Params;
  typed: Typed;
  visit: LoggedIn;
}>;

async function refusedPage<Params>(
  error: unknown,
  { declared, params, typed, visit }: Refused<Params>,
  deps: PageDeps,
): Promise<TitledPage> {
  const { back, again = sameText, textIs } = declared;
  const { errors: all, ...failure } = failureOf(error, visit);
  const errors = all.map((one) => (one.field === textIs ? { ...one, field: "text" } : one));
  const sheet = { typed, failure: { ...failure, errors } };
  const base = baseOf(deps);
  const project = isInProject(params) ? await inProject(visit.operations, params) : undefined;
  const piece = again({ action: base + visit.here, sheet, visit });
  return {
    title: "Not done",
    wide: true,
    ...(project !== undefined && { lead: project.lead() }),
    status: failure.status,
    body: () => html`<section>${sheetNotice(sheet, ["text"])}${piece}
<p><a href="${base}${back({ ...params, ...project?.names }, firstOf(typed))}">Back</a></p></section>`,
  };
}

const isInProject = (params: unknown): params is Names =>
  typeof params === "object" && params !== null && "projectAlias" in params;

function sameText({
  action,
  sheet,
  visit,
}: Readonly<{ action: string; sheet: Sheet; visit: Visit }>) {
  if (sheet.typed["text"] === undefined) return undefined;
  const { text: _, ...fields } = withoutStart(firstOf(sheet.typed));
  const form = { id: "f-text", label: "Text (Markdown)", words: "Send again", fields };
  return textForm(action, visit, form, sheet);
}

type Texts = Readonly<Record<string, string>>;

/** A form that calls one operation for the thing that the path names. */
export const simpleAct = <const Path extends RoutePath>({
  apiOperation,
  body,
  ...of
}: Omit<Act<Path, ParamsIn<Path> & Texts>, "run"> &
  Readonly<{ apiOperation: string; body?: (fields: Fields) => unknown }>): PageRoute =>
  acting<ParamsIn<Path> & Texts>({
    ...of,
    async run({ params, fields, visit }) {
      await visit.operations.run(apiOperation, { params, body: body?.(fields) });
    },
  });
