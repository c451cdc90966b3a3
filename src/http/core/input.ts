import type Koa from "koa";
import type { Context, Middleware } from "koa";

import { type FieldError, Refusal } from "../../platform/refusal.ts";
import { isStorableText } from "../../platform/storable-text.ts";
import type { Until } from "../../projections/audit/happened.ts";
import type { Part } from "../../projections/list/list-rows.ts";
import { AsOfQuery, untilOf } from "./as-of.ts";
import { pageQuery, pageRequest } from "./paging.ts";
import type { Route } from "./route.ts";
import { type Checked, check, invalid } from "./schema.ts";

/** The parsed parameters of the path; undefined when they do not fit the route. */
export function readParams(
  route: Route,
  params: unknown,
): Readonly<Record<string, unknown>> | undefined {
  if (route.params === undefined) return {};
  const checked = check(route.params, params);
  return checked.ok ? (checked.data as Readonly<Record<string, unknown>>) : undefined;
}

export type Input = Readonly<{
  query: unknown;
  body: unknown;
  page: Part | undefined;
  asOf: Until | undefined;
}>;

/** Query, paging and body, parsed. @throws Refusal 422 that lists every mistake in all of them */
export function readInput(route: Route, ctx: Context, json: unknown): Input {
  const given = givenQuery(ctx);
  const query = route.query && check(route.query, given);
  const page = route.list === undefined ? undefined : check(pageQuery(route.pageSize), given);
  const body = route.body && check(route.body, json);
  const asOf = route.asOf && check(AsOfQuery, given);
  const errors = [...[query, page, body, asOf].flatMap(errorsOf), ...asOfErrors(route, given)];
  if (errors.length > 0) throw invalid(errors);
  return {
    query: dataOf(query),
    body: dataOf(body),
    page: page?.ok ? pageRequest(page.data) : undefined,
    asOf: asOf?.ok && asOf.data.asOf !== undefined ? untilOf(asOf.data.asOf) : undefined,
  };
}

type Given = Readonly<Record<string, unknown>>;

/** Clients that fill a template of a URL send `q=` for no filter; a parameter without a value is none. */
function givenQuery({ query }: Context): Given {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}

function dataOf(checked: Checked<unknown> | undefined): unknown {
  return checked?.ok ? checked.data : undefined;
}

function errorsOf(checked: Checked<unknown> | undefined): readonly FieldError[] {
  return checked === undefined || checked.ok ? [] : checked.errors;
}

/** A client that requests the past must not get the present instead. */
function asOfErrors({ method, asOf }: Route, given: Given): readonly FieldError[] {
  const isOfToday = method === "get" && asOf === undefined;
  if (!isOfToday || given["asOf"] === undefined) return [];
  const message = "This operation answers only as it is now.";
  return [{ field: "asOf", code: "as_of.not_here", message }];
}

/**
 * What addresses say that no store can keep or compare means nothing: at such a path there is nothing, and such a
 * query is refused by whatever reads it first, so in the form of its protocol. Decoders put U+FFFD in the place of
 * bytes that are not UTF-8, so a NUL is all that can come.
 */
export function storableAddresses(app: Koa): Middleware {
  const { request } = app;
  const queryOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(request), "query");
  Object.defineProperty(request, "query", {
    ...queryOf,
    get(this: Context["request"]): Context["query"] {
      // It is Koa's own, which has no other type.
      const query = queryOf?.get?.call(this) as Context["query"];
      mustBeStorableQuery(query);
      return query;
    },
  });
  return async (ctx, next) => {
    if (!ctx.path.includes("%00")) return await next();
    throw new Refusal("not_found", "route.not_found", "There is nothing at this path.");
  };
}

/** @throws Refusal 422 that lists the parameters */
function mustBeStorableQuery(query: Context["query"]): void {
  const wrong = Object.entries(query).filter((texts) => !texts.flat().every(isStorable));
  if (wrong.length === 0) return;
  const message = "It holds a NUL or half of a surrogate pair.";
  throw invalid(wrong.map(([field]) => ({ field, code: "error.field.invalid", message })));
}

const isStorable = (text: string | undefined): boolean => isStorableText(text ?? "");
