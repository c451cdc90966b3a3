import { z } from "zod";

import type { Given } from "../../core/ask.ts";
import { type Html, html } from "../../page/html.ts";
import { csrfField } from "../../page/layout.ts";
import { type PageRoute, page, type Visit } from "../../page/route.ts";

/** Beyond any text that an operation takes: what is too long is told by the operation. */
const textMax = 400_000;
const Fields = z.record(
  z.string().max(100),
  z.union([z.string().max(textMax), z.array(z.string())]),
);

export type FormFields = Readonly<Record<string, string | undefined>>;

/** A button that posts nothing but where it stands. */
export function button(
  action: string,
  visit: Visit,
  words: string,
  {
    kind = "quiet",
    fields = {},
  }: Readonly<{ kind?: "" | "quiet" | "danger"; fields?: FormFields }> = {},
): Html {
  return html`<form method="post" action="${action}">${csrfField(visit.csrf)}${Object.entries(
    fields,
  ).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button class="${kind}">${words}</button></form>`;
}

/** A field for a text in Markdown, and the button that posts it. */
export function textForm(
  action: string,
  visit: Visit,
  {
    id,
    label,
    words,
    fields = {},
  }: Readonly<{ id: string; label: string; words: string; fields?: FormFields }>,
): Html {
  return html`<form method="post" action="${action}">${csrfField(visit.csrf)}${Object.entries(
    fields,
  ).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="field"><label for="${id}">${label}</label><textarea id="${id}" name="text" rows="4" maxlength="65536" required></textarea></div>
<button>${words}</button></form>`;
}

type Act<Params> = Readonly<{
  /** Below `/page`. */
  path: `/${string}`;
  operationId: string;
  params: z.ZodType<Params>;
  /** What is asked of the operations, and where the person goes then. */
  run: (input: Readonly<{ params: Params; fields: FormFields; visit: Visit }>) => Promise<string>;
}>;

/** A form of a page: it asks operations, with their rights, and leads back. */
export function act<Params>({ path, operationId, params, run }: Act<Params>): PageRoute {
  return page({
    method: "post",
    path: `/page${path}`,
    operationId,
    access: "session",
    params,
    form: Fields,
    async handle(input) {
      const { form, visit } = input;
      const entries = Object.entries(form).map(
        ([name, value]) => [name, typeof value === "string" ? value : value[0]] as const,
      );
      const fields = Object.fromEntries(entries);
      // The schema's type is lost among those of all pages.
      return { redirect: await run({ params: input.params as Params, fields, visit }) };
    },
  });
}

/** A form that asks one operation with what the path names. */
export const simpleAct = <Params extends NonNullable<Given["params"]>>(
  of: Omit<Act<Params>, "run"> &
    Readonly<{
      asks: string;
      body?: (fields: FormFields) => unknown;
      back: (params: Params) => string;
    }>,
): PageRoute =>
  act({
    ...of,
    async run({ params, fields, visit }) {
      await visit.ask.run(of.asks, { params, body: of.body?.(fields) });
      return of.back(params);
    },
  });
