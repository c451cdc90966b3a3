import { z } from "zod";

import type { RoutePath } from "../../core/route.ts";
import { type Html, html } from "../core/html.ts";
import { formStart } from "../core/once.ts";
import {
  type LoggedIn,
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  type ParamsIn,
  page,
  type Visit,
} from "../core/route.ts";
import type { Names } from "./address.ts";
import { inProject, type Tab } from "./frame.ts";
import {
  type Failure,
  FormFields,
  failureOf,
  type Sheet,
  sheetNotice,
  type Typed,
  typedIn,
} from "./sheet.ts";
import { baseOf } from "./text.ts";

/** A page with a body of its own, no redirect and no file. */
export type TitledPage = Extract<PageAnswer, { title: string }>;

const Filled = z.record(
  z.string().max(100),
  z.union([z.string().max(4_096), z.array(z.string().max(4_096)).max(100)]),
);

type FormPages<Path extends RoutePath, Params> = Readonly<{
  /** Below `/page`. */
  path: Path;
  /** Of the page, and of what it sends. */
  operationIds: readonly [show: string, send: string];
  /** The form; fields that the address names are filled in when it is opened. */
  show: (
    input: Readonly<{ params: Params; sheet: Sheet; visit: LoggedIn }>,
    deps: PageDeps,
  ) => Promise<TitledPage>;
  /** Calls the operations. @returns where the person goes then */
  send: (
    input: Readonly<{ params: Params; typed: Typed; visit: LoggedIn }>,
    deps: PageDeps,
  ) => Promise<string>;
}>;

/** A form with a page of its own: what is refused is shown again as it was typed, with the reasons. */
export const formPages = <const Path extends RoutePath>(
  declared: FormPages<Path, ParamsIn<Path>>,
): readonly PageRoute[] => bothPages<ParamsIn<Path>>(declared);

function bothPages<Params>({
  path,
  operationIds: [showId, sendId],
  show,
  send,
}: FormPages<RoutePath, Params>): readonly PageRoute[] {
  const common = { path: `/page${path}`, access: "session" } as const;
  return [
    page({
      ...common,
      method: "get",
      operationId: showId,
      query: Filled,
      async handle({ params: of, query, visit }, deps) {
        // The type of what the path names is lost among those of all pages.
        return await show({ params: of as Params, sheet: { typed: typedIn(query) }, visit }, deps);
      },
    }),
    page({
      ...common,
      method: "post",
      operationId: sendId,
      form: FormFields,
      async handle({ params: of, form, visit }, deps) {
        const input = { params: of as Params, typed: typedIn(form), visit };
        let failure: Failure;
        try {
          return { redirect: await send(input, deps) };
        } catch (error) {
          failure = failureOf(error, visit);
        }
        const answer = await show({ ...input, sheet: { typed: input.typed, failure } }, deps);
        return { ...answer, status: failure.status };
      },
    }),
  ];
}

type ProjectForm<Path extends RoutePath, Params> = Omit<FormPages<Path, Params>, "show"> &
  Readonly<{
    tab: Tab;
    show: (
      input: Omit<Awaited<ReturnType<typeof inProject>>, "lead"> &
        Readonly<{ params: Params; sheet: Sheet; visit: LoggedIn; base: string }>,
    ) => Promise<Readonly<{ title: string; body: Html }>>;
  }>;

/** The same below the head that the pages of a project share. */
export const projectForm = <const Path extends RoutePath>({
  tab,
  show,
  ...declared
}: ProjectForm<Path, ParamsIn<Path> & Names>): readonly PageRoute[] =>
  bothPages<ParamsIn<Path> & Names>({
    ...declared,
    async show({ params, sheet, visit }, deps) {
      const { lead, ...place } = await inProject(visit.operations, params);
      const { title, body } = await show({ ...place, params, sheet, visit, base: baseOf(deps) });
      return { title, wide: true, lead: lead(tab), body: () => body };
    },
  });

/** Where a form is shown. */
export type FormPlace = Readonly<{
  base: string;
  sheet: Sheet;
  visit: Visit;
  /** Where it leads when nothing is sent. */
  back: string;
  words: string;
}>;

type Drawn = Readonly<{
  label: string;
  /** Names of the fields; what is wrong with others is said above them. */
  fields: readonly string[];
  /** Of the thing that is edited, as the form shows it. */
  version?: string | undefined;
}>;

/** A form with its button and the way back. */
export const drawnForm = (
  { base, sheet, visit, back, words }: FormPlace,
  { label, fields, version }: Drawn,
  inner: Html,
): Html => html`<section aria-label="${label}">${sheetNotice(sheet, fields)}
<form method="post" action="${base}${visit.here.split("?", 1)[0]}">${formStart(visit)}
${version !== undefined && html`<input type="hidden" name="updatedAt" value="${version}">`}
${inner}
<p class="actions"><button>${words}</button> <a href="${base}${back}">Cancel</a></p></form></section>`;
