import { z } from "zod";

import {
  type LoggedIn,
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  page,
} from "../../page/route.ts";
import { type Failure, FormFields, failureOf, type Sheet, type Typed, typedIn } from "./sheet.ts";

/** A page with a body of its own, no redirect and no file. */
export type Shown = Extract<PageAnswer, { title: string }>;

const Filled = z.record(
  z.string().max(100),
  z.union([z.string().max(4_096), z.array(z.string().max(4_096)).max(100)]),
);

type FormPages<Params> = Readonly<{
  /** Below `/page`. */
  path: `/${string}`;
  /** Of the page, and of what it sends. */
  operationIds: readonly [show: string, send: string];
  params: z.ZodType<Params>;
  /** The form; fields that the address names are filled in when it is opened. */
  show: (
    input: Readonly<{ params: Params; sheet: Sheet; visit: LoggedIn }>,
    deps: PageDeps,
  ) => Promise<Shown>;
  /** Calls the operations. @returns where the person goes then */
  send: (
    input: Readonly<{ params: Params; typed: Typed; visit: LoggedIn }>,
    deps: PageDeps,
  ) => Promise<string>;
}>;

/** A form with a page of its own: what is refused is shown again as it was typed, with the reasons. */
export function formPages<Params>({
  path,
  operationIds: [showId, sendId],
  params,
  show,
  send,
}: FormPages<Params>): readonly PageRoute[] {
  const common = { path: `/page${path}`, access: "session", params } as const;
  return [
    page({
      ...common,
      method: "get",
      operationId: showId,
      query: Filled,
      async handle({ params: of, query, visit }, deps) {
        // The schema's type is lost among those of all pages.
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
        const shown = await show({ ...input, sheet: { typed: input.typed, failure } }, deps);
        return { ...shown, status: failure.status };
      },
    }),
  ];
}
