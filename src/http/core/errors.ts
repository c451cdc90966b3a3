import { STATUS_CODES } from "node:http";
import type { Context, Middleware } from "koa";
import type { Logger } from "pino";

import { RevisionConflict, StoreUnavailable } from "../../platform/event-store/event-store.ts";
import { isTransient, isUnbuilt } from "../../platform/postgres-error.ts";
import { type FieldError, Refusal, type RefusalKind } from "../../platform/refusal.ts";
import type { Answer } from "./answer.ts";
import type { Problem } from "./problem.ts";
import { stateOf } from "./state.ts";

/** The only place where a refusal becomes a status code. */
const statusOf = {
  bad_request: 400,
  forbidden: 403,
  not_found: 404,
  not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unprocessable: 422,
  too_many: 429,
  unavailable: 503,
} as const satisfies Record<RefusalKind, number>;

/** What HTTP itself refuses, for which the domain has no word: 401, 408, 415, 416. */
export class HttpRefusal extends Error {
  override readonly name: string = "HttpRefusal";
  /** In the place of the problem document, where a protocol has a form of its own. */
  readonly document: Readonly<Record<string, unknown>> | undefined = undefined;

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

const problemType = "application/problem+json";

/** Turns everything thrown further in into a problem document; logs what is our own fault, once. */
export function errors(log: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      answer(ctx, error, log);
    }
  };
}

function answer(ctx: Context, error: unknown, log: Logger): void {
  const state = stateOf(ctx);
  if (ctx.headerSent) {
    // The status is on its way already: cutting the connection is the only honest answer left.
    log.warn({ err: error, requestId: state.requestId }, "answer broke off");
    ctx.res.destroy();
    return;
  }
  const { status, headers, body } = failedAnswer(ctx, error, log);
  for (const name of ctx.res.getHeaderNames()) {
    if (/^(?:content-(?!security)|etag$|last-modified$)/.test(name)) ctx.remove(name);
  }
  ctx.status = status;
  ctx.body = body;
  ctx.set(headers);
  if (state.showProblem === undefined) return;
  ctx.body = state.showProblem(JSON.parse(body) as Problem);
  ctx.set("Content-Type", "text/html; charset=utf-8");
}

/**
 * The answer to a request that ended in this error, for a protocol to give in a form of its own. Notes its
 * code for the access log, and logs failures that are no refusals.
 */
export function failedAnswer(ctx: Context, error: unknown, log: Logger): ProblemAnswer {
  const state = stateOf(ctx);
  const answer = problemAnswer(error, ctx.originalUrl, state.requestId);
  const isRefused = error instanceof Refusal || error instanceof HttpRefusal;
  if (answer.status >= 500 && !isRefused) {
    log.error({ err: error, requestId: state.requestId }, "request failed");
  }
  state.code = answer.code;
  return answer;
}

type ProblemAnswer = Answer & Readonly<{ body: string; code: string }>;

/** The answer to a request that ended in this error. */
export function problemAnswer(error: unknown, url: string, requestId: string): ProblemAnswer {
  if (error instanceof HttpRefusal && error.document !== undefined) {
    const { status, code, headers, document } = error;
    const problemHeaders = {
      ...headers,
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
    };
    return { status, code, headers: problemHeaders, body: JSON.stringify(document) };
  }
  const { status, code, headers, extra, ...what } = explain(error);
  return {
    status,
    code,
    headers: { ...headers, "Content-Type": problemType, "Cache-Control": "no-store" },
    body: JSON.stringify({ ...extra, ...problem(url, requestId, { status, code, ...what }) }),
  };
}

type Wrong = Readonly<{
  status: number;
  code: string;
  message: string;
  errors?: readonly FieldError[] | undefined;
}>;

/** @param url as requested; the answer omits the query, which may contain secrets. */
export function problem(url: string, requestId: string, what: Wrong): Problem {
  const errors = errorsOf(what);
  return {
    type: "about:blank",
    title: STATUS_CODES[what.status] ?? "Error",
    status: what.status,
    detail: what.message,
    instance: url.split("?", 1)[0] ?? "/",
    code: what.code,
    message: what.message,
    requestId,
    ...(errors !== undefined && { errors }),
  };
}

/** Every 422 lists what is wrong; a refusal that is about no field of the request lists itself. */
function errorsOf({ status, code, message, errors = [] }: Wrong): Problem["errors"] {
  if (errors.length > 0) return errors;
  return status === statusOf.unprocessable ? [{ field: "", code, message }] : undefined;
}

type Explained = Wrong &
  Readonly<{
    headers: Readonly<Record<string, string>>;
    /** Further members of the problem document. */
    extra?: Readonly<Record<string, unknown>> | undefined;
  }>;

function explain(error: unknown): Explained {
  if (error instanceof Refusal) {
    const { errors, retryAfterSeconds, extra } = error.details;
    return {
      status: statusOf[error.kind],
      code: error.code,
      message: error.message,
      headers: retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) },
      errors,
      extra,
    };
  }
  if (error instanceof HttpRefusal) {
    const { status, code, message, headers } = error;
    return { status, code, message, headers };
  }
  const unavailable = unavailableCode(error);
  if (unavailable !== undefined) {
    const message = "The service cannot store or read at the moment. Try again.";
    const headers = { "Retry-After": "1" };
    return { status: 503, code: unavailable, message, headers };
  }
  // Not ours to explain to the caller: the detail is in the log, tied together by the request id.
  return {
    status: 500,
    code: "internal_error",
    message: "Something went wrong on our side. The request id names it in the log.",
    headers: {},
  };
}

/** Failures that may pass when the request is repeated; they are reported to the operator all the same. */
function unavailableCode(error: unknown): string | undefined {
  if (error instanceof StoreUnavailable) return "store.unavailable";
  if (error instanceof RevisionConflict) return "store.contended";
  if (isUnbuilt(error)) return "projection.lagging";
  return isTransient(error) ? "database.unavailable" : undefined;
}
