import { hash } from "node:crypto";
import type { Readable } from "node:stream";
import type { Context } from "koa";

import { stateOf } from "./state.ts";

/** Bytes of a handler's own making: a file, a log, an archive. */
export type StreamReply = Readonly<{
  body: Readable | Buffer | string;
  /** Content type. */
  type: string;
  bytes?: number;
  /** Given: a browser saves the answer under this name instead of showing it. */
  fileName?: string;
  /** Whether parts of it may be requested by Range. */
  acceptRanges?: boolean;
  /** Names the content for a caller who may have it already; without quotes. */
  etag?: string;
  /** Which bytes the body is, when it is not the whole; both ends included. */
  part?: Readonly<{ first: number; last: number; total: number }>;
  /** Instead of the declared status, where a protocol has several statuses of success. */
  status?: number;
  /** Further headers of a protocol. */
  headers?: Readonly<Record<string, string>>;
  /** The connection's end is that of the body, so that what is sent needs no frame of its own. */
  untilClose?: true;
}>;

/** What a handler answers instead of its declared JSON, in a form that the caller requested. */
export class Streamed {
  constructor(readonly reply: StreamReply) {}
}

/** An answer before it is put on the wire, so that it can be kept and given again. */
export type Answer = Readonly<{
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer | Readable;
  /** Code of the refusal that the answer reports. */
  code?: string;
  untilClose?: true;
}>;

export function jsonAnswer(status: number, value: unknown): Answer {
  const headers = { "Content-Type": "application/json; charset=utf-8" };
  return { status, headers, body: JSON.stringify(value) };
}

export function emptyAnswer(status: number): Answer {
  return { status, headers: {}, body: "" };
}

export function streamAnswer(status: number, reply: StreamReply): Answer {
  const { fileName, part } = reply;
  const headers = {
    "Content-Type": reply.type,
    ...(reply.bytes === undefined ? {} : { "Content-Length": String(reply.bytes) }),
    ...(fileName === undefined ? {} : { "Content-Disposition": attachment(fileName) }),
    ...(reply.etag === undefined ? {} : { ETag: `"${reply.etag}"` }),
    ...(reply.acceptRanges === true ? { "Accept-Ranges": "bytes" } : {}),
    ...(part && { "Content-Range": `bytes ${part.first}-${part.last}/${part.total}` }),
    ...reply.headers,
  };
  const usual = part === undefined ? status : 206;
  const { body, untilClose } = reply;
  return { status: reply.status ?? usual, headers, body, ...(untilClose && { untilClose }) };
}

export const textAnswer = (body: string | Buffer, type = "text/plain; charset=utf-8"): Answer =>
  streamAnswer(200, { body, type });

/** RFC 6266: the exact name in `filename*`, an ASCII shadow of it for old clients. */
export function attachment(fileName: string): string {
  const ascii = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const exact = encodeURIComponent(Buffer.from(fileName).toString()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`;
}

/**
 * Puts the answer on the wire. A GET carries an entity tag and is answered 304 when the caller has
 * it already: strong and immutable when the handler named what it read by content (a commit hash),
 * weak and computed from the body otherwise.
 */
export function send(ctx: Context, answer: Answer, immutableTag: string | undefined): void {
  ctx.status = answer.status;
  ctx.body = answer.body;
  ctx.remove("Content-Type");
  ctx.set(answer.headers);
  if (answer.untilClose === true) {
    ctx.set("Connection", "close");
    // Node.js sends a body in chunks unless the header was taken away.
    ctx.remove("Transfer-Encoding");
  }
  ctx.vary("Authorization");
  // A browser may get a page at the same address.
  if (ctx.method === "GET" || ctx.method === "HEAD") ctx.vary("Accept");
  if (answer.code !== undefined) stateOf(ctx).code = answer.code;
  if (ctx.method !== "GET" && ctx.method !== "HEAD") {
    ctx.set("Cache-Control", "no-store");
    return;
  }
  const immutable = immutableTag !== undefined;
  ctx.set(
    "Cache-Control",
    immutable ? "private, max-age=31536000, immutable" : "private, no-cache",
  );
  const body = isStream(answer.body) ? undefined : answer.body;
  if (immutable) {
    ctx.set("ETag", `"${immutableTag}"`);
  } else if (answer.headers["ETag"] === undefined && body !== undefined) {
    ctx.set("ETag", `W/"${hash("sha1", body, "base64url")}"`);
  }
  if (ctx.status === 200 && carriesTag(ctx.get("if-none-match"), ctx.response.get("ETag"))) {
    ctx.status = 304;
  }
}

const isStream = (body: Answer["body"]): body is Readable =>
  typeof body !== "string" && !Buffer.isBuffer(body);

/**
 * RFC 9110, 13.1.2: any tag of the list, compared weakly.
 *
 * @param header If-None-Match of the request
 * @param tag with its quotes
 */
export function carriesTag(header: string, tag: string): boolean {
  const bare = (text: string) => text.trim().replace(/^W\//, "");
  if (header === "" || tag === "") return false;
  return header.trim() === "*" || header.split(",").some((one) => bare(one) === bare(tag));
}
