import type { z } from "zod";

import type { RoutePath } from "../../core/route.ts";
import {
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  type ParamsIn,
  page,
  type Visit,
} from "../core/route.ts";
import type { Names } from "./address.ts";
import type { TitledPage } from "./form-page.ts";
import { inProject, type Tab } from "./frame.ts";
import { baseOf } from "./text.ts";

/** Pages at addresses of the REST interface: what they read has the rights of the operations that they call. */
export const besides = { method: "get", besides: true, access: "anonymous" } as const;

type ProjectPage<Path extends RoutePath, Query> = Pick<PageRoute, "anonymousWhen"> &
  Readonly<{
    path: Path;
    operationId: string;
    query?: z.ZodType<Query>;
    tab?: Tab;
    show: (
      input: Awaited<ReturnType<typeof inProject>> &
        Readonly<{ params: ParamsIn<Path> & Names; query: Query; visit: Visit; base: string }>,
      deps: PageDeps,
    ) => Promise<TitledPage | Extract<PageAnswer, { redirect: string }>>;
  }>;

/** A page of a project, below the head that all of them share. */
export function projectPage<const Path extends RoutePath, Query = undefined>({
  tab,
  show,
  ...declared
}: ProjectPage<Path, Query>): PageRoute {
  return page({
    ...besides,
    ...declared,
    async handle({ params, query, visit }, deps) {
      // Their types are lost among those of all pages.
      const [of, given] = [params as unknown as ParamsIn<Path> & Names, query as Query];
      const place = await inProject(visit.operations, of);
      const input = { ...place, params: of, query: given, visit, base: baseOf(deps) };
      const answer = await show(input, deps);
      return "redirect" in answer ? answer : { wide: true, lead: place.lead(tab), ...answer };
    },
  });
}
