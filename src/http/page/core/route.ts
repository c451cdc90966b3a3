import type { z } from "zod";

import type { Settings } from "../../../events/instance/settings.ts";
import type { OpenSessionRow } from "../../../projections/access/session.ts";
import type { Authenticate } from "../../access/authenticate.ts";
import type { StreamReply } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import type { OperationClient } from "../../core/operation-client.ts";
import type { RequestContext } from "../../core/request.ts";
import { type NamesIn, paramsOf, type RoutePath } from "../../core/route.ts";
import type { Html } from "./html.ts";

/**
 * Who may see a page.
 * - `anonymous`: everybody, logged in or not;
 * - `session`: who logged in; others are sent to the login page and back.
 *
 * What a page reads by `visit.operations` has the rights of the operations that it calls. Who is not logged in
 * and may not read it is sent to the login page and back as well.
 */
export type PageAccess = "anonymous" | "session";

/** A cookie to keep until the browser ends (or for `seconds`); without a value, to drop. */
export type CookieChange = Readonly<{ name: CookieName; value?: string; seconds?: number }>;
export type CookieName = "session" | "visitor" | "login" | "sso";

export type PageAnswer = Readonly<{ cookies?: readonly CookieChange[] }> &
  (
    | Readonly<{
        title: string;
        /** Above the title: where the page stands. */
        lead?: (base: string) => Html;
        /** As wide as the window. */
        wide?: true;
        /** Paths of scripts of ours that move what the page shows. */
        scripts?: readonly `/${string}`[];
        /** `base` stands in front of every path of ours. */
        body: (base: string) => Html;
        /** 200 when not given. */
        status?: number;
        /** Origins beside our own that a form on the page may end up at. */
        formTargets?: readonly string[];
      }>
    /** A path of ours, or a whole address elsewhere. */
    | Readonly<{ redirect: string }>
    /** What is no page: a document that another program reads, a stylesheet. */
    | Readonly<{ document: string; type: string; cache?: boolean }>
    /** Bytes, which a browser shows in a sandbox if at all. */
    | Readonly<{ stream: StreamReply }>
  );

/** What a page knows about the request. Who is not logged in has `userId` null. */
export type Visit = RequestContext &
  Readonly<{
    session: OpenSessionRow | undefined;
    /** Goes into every form, see csrf.ts. */
    csrf: string;
    cookie: (name: CookieName) => string | undefined;
    /** The page's own address within the service, with its query. */
    here: string;
    operations: OperationClient;
  }>;

export type LoggedIn = Visit &
  Readonly<{ userId: NonNullable<Visit["userId"]>; session: OpenSessionRow }>;
type VisitFor<A extends PageAccess> = A extends "session" ? LoggedIn : Visit;

/** The dependencies of pages; unlike other operations they may check a password. */
export type PageDeps = Deps & Readonly<{ authenticate: Authenticate }>;

type Declaration = Readonly<{
  method: "get" | "post";
  /** verbNoun, as of other operations. */
  operationId: string;
  /**
   * Another site may send the form, and its content authenticates itself (an assertion that is signed). It
   * is taken without the token that our own forms carry.
   */
  crossSite?: true;
  /** It stands at an address of the REST interface: browsers get the page, programs the answer. */
  besides?: true;
  /** The setting that lets those who are not logged in read what guests of a project read. */
  anonymousWhen?: keyof Settings & `${string}Anon${string}`;
  /** All it needs is in its address; a body of any type is not read. */
  ignoresBody?: true;
  /** Of a POST that changes nothing: sent again, it shows how things are then, to those who may read them then. */
  onlyShows?: true;
}>;

/** What a path names: a text each. */
export type ParamsIn<Path extends string> = Readonly<Record<NamesIn<Path>, string>>;

type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export type PageDefinition<
  A extends PageAccess,
  Path extends RoutePath,
  Params extends z.ZodObject | undefined,
  Query extends z.ZodType | undefined,
  Form extends z.ZodType | undefined,
> = Declaration &
  Readonly<{
    access: A;
    path: Path;
    /** Of what the path names, where that is more than a text. */
    params?: Params;
    query?: Query;
    /** Of a POST: fields by name; a field that comes twice is a list. */
    form?: Form;
    handle: (
      input: Readonly<{
        params: ParamsIn<Path> & (Params extends z.ZodType ? z.output<Params> : unknown);
        query: OutputOf<Query>;
        form: OutputOf<Form>;
        visit: VisitFor<A>;
      }>,
      deps: PageDeps,
    ) => Promise<PageAnswer>;
  }>;

/** A declared page, its types checked and forgotten: the machinery reads it as data. */
export type PageRoute = Declaration &
  Readonly<{
    access: PageAccess;
    path: RoutePath;
    params: z.ZodType | undefined;
    query: z.ZodType | undefined;
    form: z.ZodType | undefined;
    handle: (
      input: Readonly<{ params: unknown; query: unknown; form: unknown; visit: Visit }>,
      deps: PageDeps,
    ) => Promise<PageAnswer>;
  }>;

/** Declares one page or one form, as `route` declares an operation. */
export function page<
  const A extends PageAccess,
  const Path extends RoutePath,
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Form extends z.ZodType | undefined = undefined,
>(definition: PageDefinition<A, Path, Params, Query, Form>): PageRoute {
  const { path, query, form } = definition;
  const params = paramsOf(path, definition.params);
  // The machinery hands over what the declared schemas and access promise: that is what the cast says.
  const handle = definition.handle as unknown as PageRoute["handle"];
  return { ...definition, params, query, form, handle };
}
