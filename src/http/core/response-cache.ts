import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context, Middleware } from "koa";

import { BoundedCache } from "../../platform/bounded-cache.ts";
import type { Watching } from "../../projections/core/visible.ts";
import type { WatchRequest } from "./access-log.ts";
import { carriesTag } from "./answer.ts";
import { requestIdOf } from "./request-id.ts";
import { type RequestState, stateOf } from "./state.ts";

/**
 * With the lifetime of what `cachedQuery` caches, which an answer depends on, this adds up to the second
 * within which a revocation elsewhere takes effect here even when its notification is lost.
 */
const lifeMs = 500;
const bytesMaxDefault = 32 * 1024 ** 2;
/** Larger bodies cost more to send than to find. */
const bodyBytesMax = 256 * 1024;
const urlLengthMax = 2_048;

export type ResponseCache = Readonly<{
  /** Gives an answer again, or leaves the request alone. @returns whether it was answered */
  again: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Keeps what went out, when it is of the kind that is given again. */
  keep: Middleware;
}>;

type Kept = Readonly<{
  until: number;
  /** How many changes that may affect rights there had been. */
  epoch: number;
  state: RequestState;
  tag: string;
  /** Flat, as `writeHead` takes them: name, value, name, value. */
  headers: readonly string[];
  unchangedHeaders: readonly string[];
  body: string | Buffer;
}>;

export type ResponseCacheOptions = Readonly<{
  onChange: Watching["onChange"];
  watch: WatchRequest;
  bytesMax?: number;
}>;

/**
 * What a commit hash names never changes, so the same request of the same caller has the same answer for
 * as long as nothing has changed that could forbid it: it is given from memory, before any check. The
 * tokens, roles and settings that let a caller in are announced when they change; every such
 * announcement, whatever its subject, empties the cache.
 */
export function responseCache({ onChange, watch, bytesMax }: ResponseCacheOptions): ResponseCache {
  const answers = new BoundedCache<Kept>(bytesMax ?? bytesMaxDefault);
  let epoch = 0;
  onChange((subject) => {
    if (subject !== "jobs") epoch += 1;
  });

  return {
    again(request, response) {
      const key = keyOf(request);
      const kept = key === undefined ? undefined : answers.get(key);
      if (kept === undefined || kept.epoch !== epoch || kept.until <= performance.now()) {
        return false;
      }
      const requestId = requestIdOf(request.headers["x-request-id"]);
      watch(request, response, { ...kept.state, requestId });
      if (carriesTag(request.headers["if-none-match"] ?? "", kept.tag)) {
        response.writeHead(304, [...kept.unchangedHeaders, "X-Request-Id", requestId]).end();
      } else {
        response.writeHead(200, [...kept.headers, "X-Request-Id", requestId]).end(kept.body);
      }
      return true;
    },

    async keep(ctx, next) {
      // Taken first: what changes while the answer is made ends it before it is given again.
      const [key, before] = [keyOf(ctx.req), epoch];
      await next();
      const kept = key === undefined ? undefined : keepable(ctx, before);
      if (key === undefined || kept === undefined) return;
      answers.set(key, kept, Buffer.byteLength(kept.body) + bytesBeside);
    },
  };
}

/** What an entry takes beside its body, about. */
const bytesBeside = 2_048;

/** The cache key: caller and URL, without a secret in it; undefined when the request cannot be cached. */
function keyOf({ method, url = "", headers }: IncomingMessage): string | undefined {
  if (method !== "GET" || url.length > urlLengthMax || headers.range !== undefined)
    return undefined;
  // A browser may get a page at the same address.
  if (headers.accept?.includes("text/html")) return undefined;
  // Who calls is said elsewhere than the key looks.
  if (headers["job-token"] !== undefined || headers["x-nuget-apikey"] !== undefined)
    return undefined;
  // A body would have to be read.
  if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) {
    return undefined;
  }
  return `${hash("sha256", headers.authorization ?? "", "base64")} ${url}`;
}

function keepable(ctx: Context, epoch: number): Kept | undefined {
  const { lasting, ...state } = stateOf(ctx);
  if (lasting === undefined || (ctx.status !== 200 && ctx.status !== 304)) return undefined;
  const { headers, body } = lasting;
  // Who is counted has to be counted every time.
  if (headers["ratelimit-limit"] !== undefined || headers["content-range"] !== undefined)
    return undefined;
  if (Buffer.byteLength(body) > bodyBytesMax) return undefined;
  const lines = Object.entries(headers).filter(([name]) => !ofEach.has(name));
  const whole = [...lines, ["content-length", Buffer.byteLength(body)] as const];
  const unchanged = lines.filter(([name]) => !name.startsWith("content-") || name === policy);
  const until = performance.now() + lifeMs;
  return {
    ...{ until, epoch, state, body, tag: String(headers["etag"]) },
    headers: flat(whole),
    unchangedHeaders: flat(unchanged),
  };
}

/** What every answer has of its own. */
const ofEach = new Set(["x-request-id", "content-length"]);

/** Says what a browser may do, not what the body is. */
const policy = "content-security-policy";

const flat = (lines: readonly (readonly [string, unknown])[]): readonly string[] =>
  lines.flatMap(([name, value]) => [name, String(value)]);
