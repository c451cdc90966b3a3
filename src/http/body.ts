import type { IncomingMessage } from "node:http";
import type { Context } from "koa";

import { Refusal } from "../platform/refusal.ts";
import { letSend } from "./continue.ts";
import { HttpRefusal } from "./errors.ts";

/** No request of ours nests deeper than a handful; recursion further in must never meet more. */
const bodyDepthMax = 64;

export type BodyLimits = Readonly<{ bytesMax: number; timeoutMs: number }>;

/** No operation but an upload needs more; a slower body is an attack or a dead line. */
export const bodyLimitsDefault: BodyLimits = { bytesMax: 1024 * 1024, timeoutMs: 20_000 };

export type Body = Readonly<{ bytes: Buffer; json: unknown }>;

/**
 * Reads a JSON body. No body at all reads as `{}`, so that operations with optional fields alone
 * need none.
 *
 * @throws Refusal 400 not JSON, 413 too large, 422 what JSON allows but nobody can store;
 *   HttpRefusal 408 too slow
 */
export async function readJson(ctx: Context, limits: BodyLimits): Promise<Body> {
  const bytes = await readBytes(ctx.req, limits);
  if (bytes.length === 0) return { bytes, json: {} };
  // A form or a plain text can be sent by any web page in a visitor's name; JSON cannot.
  if (!ctx.is("application/json", "application/*+json")) throw notJson("its content type says so");
  const json = parse(bytes);
  sanitise(json);
  return { bytes, json };
}

/**
 * Reads a form as browsers send it by default: fields by name, one that comes twice as a list.
 *
 * @throws Refusal 400 not such a form, 413 too large, 422 a NUL; HttpRefusal 408 too slow
 */
export async function readForm(ctx: Context, limits: BodyLimits): Promise<Body> {
  const bytes = await readBytes(ctx.req, limits);
  if (bytes.length > 0 && !ctx.is("application/x-www-form-urlencoded")) throw notForm();
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(utf8(bytes, notForm))) {
    refuseNul(name + value);
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : [before, value].flat());
  }
  fields.delete("__proto__");
  return { bytes, json: Object.fromEntries(fields) };
}

async function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const tooLarge = () =>
    new Refusal("too_large", "body.too_large", `The body is over ${limits.bytesMax} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > limits.bytesMax) throw tooLarge();

  letSend(request);
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => {
      settle(() => reject(new HttpRefusal(408, "body.too_slow", "The body took too long.")));
    }, limits.timeoutMs);

    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limits.bytesMax) settle(() => reject(tooLarge()));
      else chunks.push(chunk);
    };
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks)));
    const onGone = () =>
      settle(() => reject(new HttpRefusal(400, "body.cut", "The body was cut.")));
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone);
      request.pause();
      finish();
    };
    request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone);
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8(bytes, () => notJson("it does not parse")));
  } catch {
    throw notJson("it does not parse");
  }
}

function utf8(bytes: Buffer, refusal: () => Refusal): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw refusal();
  }
}

function notForm(): Refusal {
  const message = "The body must be application/x-www-form-urlencoded in UTF-8.";
  return new Refusal("bad_request", "body.not_form", message);
}

function notJson(why: string): Refusal {
  return new Refusal("bad_request", "body.not_json", `The body must be JSON in UTF-8; ${why}.`);
}

/**
 * Walks the value without recursion: bounds its depth, drops `__proto__` members, refuses NUL,
 * which PostgreSQL cannot store in a text.
 */
function sanitise(root: unknown): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > bodyDepthMax) {
      const message = `The body nests deeper than ${bodyDepthMax} levels.`;
      throw new Refusal("bad_request", "body.too_deep", message);
    }
    const deeper: unknown[] = [];
    for (const value of level) {
      if (typeof value === "string") refuseNul(value);
      if (typeof value !== "object" || value === null) continue;
      if (Object.hasOwn(value, "__proto__")) Reflect.deleteProperty(value, "__proto__");
      for (const child of Object.values(value)) deeper.push(child);
    }
    level = deeper;
  }
}

function refuseNul(text: string): void {
  if (!text.includes("\0")) return;
  throw new Refusal("unprocessable", "body.nul", "A text in the body holds a NUL character.");
}
