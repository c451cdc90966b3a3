import { z } from "zod";
import {
  PackageId,
  PackageVersionId,
  RegistryRepositoryId,
  ReleaseId,
  SshKeyId,
  UserId,
  Uuid,
} from "../../events/core/ids.ts";
import type { Settings } from "../../events/instance/settings.ts";
import { IssueCommentId } from "../../events/issue/issue-comment.ts";
import { LabelId } from "../../events/label/label.ts";
import type { Scope } from "../../events/token/access-token.ts";
import type { Part } from "../../projections/list/list-rows.ts";
import type { Access } from "../access/access.ts";
import type { Streamed, StreamReply } from "./answer.ts";
import type { AsOf } from "./as-of.ts";
import type { Deps } from "./deps.ts";
import type { Listed } from "./paging.ts";
import type { RequestContext, RequestFor } from "./request.ts";
import { int } from "./schema.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";
export type RoutePath = `/${string}`;
/** Statuses of refusals that not every operation gives. */
export type RefusalStatus = 400 | 404 | 405 | 409;

/** A schema for a JSON answer, nothing at all, or bytes of the handler's own making. */
export type Reply = z.ZodType | "empty" | "stream";

type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** What means the same in every path, unless an operation declares it otherwise. */
const named = {
  approvalRuleUuid: Uuid,
  artifactUuid: Uuid,
  commentId: IssueCommentId,
  deliveryId: Uuid,
  discussionUuid: Uuid,
  environmentId: Uuid,
  id: Uuid,
  invitationUuid: Uuid,
  keyUuid: SshKeyId,
  labelUuid: LabelId,
  /** Of an issue or a merge request. */
  localId: int({ min: 1, max: 2 ** 31 - 1 }),
  mailUuid: Uuid,
  noteUuid: Uuid,
  packageUuid: PackageId,
  projectUuid: Uuid,
  registryRepositoryUuid: RegistryRepositoryId,
  releaseUuid: ReleaseId,
  replayId: Uuid,
  reportUuid: Uuid,
  runnerUuid: Uuid,
  transferUuid: Uuid,
  userUuid: UserId,
  versionUuid: PackageVersionId,
} as const satisfies Readonly<Record<string, z.ZodType>>;
type Named = typeof named;

/** What a path names: `ownerAlias` of `/project/{ownerAlias}`. */
export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

type DeclaredOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : unknown;

type ParamsOf<Path extends RoutePath, Schema> = DeclaredOf<Schema> &
  Readonly<{
    [Name in Exclude<NamesIn<Path>, keyof DeclaredOf<Schema>>]: Name extends keyof Named
      ? z.output<Named[Name]>
      : string;
  }>;

type ResultOf<R extends Reply, List> = R extends z.ZodType
  ? List extends string
    ? Listed<z.input<R>>
    : z.input<R> | Streamed
  : R extends "stream"
    ? StreamReply
    : // biome-ignore lint/suspicious/noConfusingVoidType: a handler that answers nothing returns nothing.
      void;

type Declaration = Readonly<{
  method: Method;
  /** Further forms that clients in the field use, for example with a slash at the end. */
  alsoAt?: readonly RoutePath[];
  /** verbNoun; names the operation in logs, metrics, OpenAPI. */
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /** A token must carry it; WRITE counts as READ of the same resource. */
  scope: Scope | "none";
  /** The body is a form (application/x-www-form-urlencoded) instead of JSON. */
  form?: true;
  /** Says a refusal in the words of a protocol that has its own. */
  translate?: (error: unknown) => unknown;
  /**
   * With an access by role: a path parameter that names a user. Callers whom it names need only the
   * role GUEST, as members have who leave.
   */
  selfParam?: string;
  /** With an access by role: administrators of the instance need no role, only the scope USER_WRITE. */
  orAdministrator?: true;
  /**
   * It changes or shows what an account is secured by: tokens of OAuth applications are refused, with
   * 403 `auth.not_for_applications`.
   */
  notForApplications?: true;
  /**
   * With an access by role in a project: the token of a job that runs is taken as well, for the job's
   * project and with the role of whom the job acts for. It may come in the header `Job-Token`.
   */
  forJobs?: true;
  /** Further statuses that a stream reply may have, and what each says. */
  otherAnswers?: Readonly<Record<number, string>>;
  /** Content types that the handler answers beside JSON on request, as `Streamed`. */
  alsoAs?: readonly string[];
  /** What such refusals look like, by status; all others are problem documents. */
  protocolErrors?: Readonly<{ statuses: readonly number[]; schema: z.ZodType }>;
  /** The answer contains a secret that is shown once: caches must not store it. */
  secret?: true;
  /** With an access that ends in READER: the setting that lets callers without a token in. */
  anonymousWhen?: keyof Settings & `${string}Anon${string}`;
  /** Of a read: whether what the path names is open to everybody, without a token and without a role. */
  isOpen?: (params: Readonly<Record<string, unknown>>, deps: Deps) => Promise<boolean>;
  /** Key under which files come as `multipart/form-data`; the handler reads them as they come. */
  upload?: string;
  /** One file comes as the body, or as `multipart/form-data` under the key `file`. */
  attachment?: true;
  /** It answers as it was at a time, too: `?asOf=`. */
  asOf?: AsOf;
  /** Success; 200 when not given. */
  status?: 200 | 201 | 204;
  /** Largest body, when it is not 1 MiB. A few such requests are served at a time. */
  bodyBytesMax?: number;
  /** Default page size of a list, when it is not 10. */
  pageSize?: number;
  /** Further statuses of refusals, beside those that follow from the declaration (see `failing`). */
  errors?: readonly RefusalStatus[];
}>;

export type RouteDefinition<
  A extends Access,
  Path extends RoutePath,
  Params extends z.ZodObject | undefined,
  Query extends z.ZodType | undefined,
  Body extends z.ZodType | undefined,
  R extends Reply,
  List extends string | undefined,
> = Declaration &
  Readonly<{
    access: A;
    /** OpenAPI form: `/project/{ownerAlias}`. A malformed parameter lets the next route that fits try. */
    path: Path;
    /** Of what the path names, where that is neither what `named` says nor a text. */
    params?: Params;
    query?: Query;
    body?: Body;
    /** With `list`: the schema of one item. */
    reply: R;
    /** Name in `_embedded`: the operation is paged by `page` and `size`, and answers an envelope. */
    list?: List;
    handle: (
      input: Readonly<{
        params: ParamsOf<Path, Params>;
        query: OutputOf<Query>;
        body: OutputOf<Body>;
        page: List extends string ? Part : undefined;
        request: RequestFor<A>;
      }>,
      deps: Deps,
    ) => Promise<ResultOf<R, List>>;
  }>;

/** A declared operation, its types checked and forgotten: the machinery reads it as data. */
export type Route = Declaration &
  Readonly<{
    access: Access;
    path: RoutePath;
    params: z.ZodObject | undefined;
    query: z.ZodType | undefined;
    body: z.ZodType | undefined;
    reply: Reply;
    list: string | undefined;
    handle: (input: HandlerInput, deps: Deps) => Promise<unknown>;
  }>;

export type HandlerInput = Readonly<{
  params: unknown;
  query: unknown;
  body: unknown;
  page: Part | undefined;
  request: RequestContext;
}>;

/**
 * Declares one operation. The declaration is everything the outside sees of it: routing, validation,
 * authorisation, OpenAPI and the generated tests are made from it.
 */
export function route<
  const A extends Access,
  const Path extends RoutePath,
  R extends Reply,
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  const List extends string | undefined = undefined,
>(definition: RouteDefinition<A, Path, Params, Query, Body, R, List>): Route {
  const { path, query, body, list } = definition;
  const params = paramsOf(path, definition.params, named);
  // The machinery hands over what the declared schemas and access promise: that is what the cast says.
  const handle = definition.handle as unknown as Route["handle"];
  return { ...definition, params, query, body, list, handle };
}

/** Of the parameters of a path, in order. */
export const namesIn = (path: RoutePath): readonly string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

/** What a path names beside the declared parameters and those `known` is a text. */
export function paramsOf(
  path: RoutePath,
  declared: z.ZodObject | undefined,
  known: Readonly<Record<string, z.ZodType>> = {},
): z.ZodObject | undefined {
  const names = namesIn(path);
  const own = Object.keys(declared?.shape ?? {});
  if (names.length === own.length && names.every((name) => own.includes(name))) return declared;
  const shape = new Map(Object.entries({ ...known, ...declared?.shape }));
  return z.object(Object.fromEntries(names.map((name) => [name, shape.get(name) ?? z.string()])));
}
