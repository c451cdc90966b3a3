import type { IncomingMessage } from "node:http";
import type { Context } from "koa";

import { Refusal } from "../../platform/refusal.ts";
import { mustBeStorable } from "../../platform/storable-text.ts";
import { HttpRefusal } from "./errors.ts";
import { sendContinue } from "./expect-continue.ts";
import { checkJsonLimits } from "./json-limits.ts";

/** No form of the service has more than a few dozen fields. */
const formFieldsMax = 1_000;

export type BodyLimits = Readonly<{ bytesMax: number; timeoutMs: number }>;

/** No operation but an upload needs more; a slower body is an attack or a dead line. */
export const bodyLimitsDefault: BodyLimits = { bytesMax: 1024 * 1024, timeoutMs: 20_000 };

/** A body of which nothing comes for so long is not coming: others wait for its place. */
const idleMs = 10_000;

export type Body = Readonly<{ bytes: Buffer; json: unknown }>;

/**
 * Reads a JSON body. No body at all reads as `{}`, so that operations with optional fields alone
 * need none.
 *
 * @throws Refusal 400 not JSON, too deep or too many values, 413 too large, 422 a text that cannot be
 *   stored; HttpRefusal 408 too slow
 */
export async function readJson(ctx: Context, limits: BodyLimits): Promise<Body> {
  return jsonOf(ctx, await readBytes(ctx.req, limits));
}

/** The same of a body that has come. @throws as `readJson` */
export function jsonOf(ctx: Context, bytes: Buffer): Body {
  if (bytes.length === 0) return { bytes, json: {} };
  // A form or a plain text can be sent by any web page in a visitor's name; JSON cannot.
  if (!ctx.is("application/json", "application/*+json")) throw notJson("its content type says so");
  const json = parse(bytes);
  dropPrototypes(json);
  mustBeStorable(json);
  return { bytes, json };
}

/**
 * Reads a form as browsers send it by default: fields by name, one that comes twice as a list.
 *
 * @throws Refusal 400 not such a form or too many fields, 413 too large, 422 a text that cannot be
 *   stored; HttpRefusal 408 too slow
 */
export async function readForm(ctx: Context, limits: BodyLimits): Promise<Body> {
  const bytes = await readBytes(ctx.req, limits);
  if (bytes.length > 0 && !ctx.is("application/x-www-form-urlencoded")) throw notForm();
  const text = utf8(withoutPluses(bytes), notForm);
  refuseManyFields(text);
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    mustBeStorable([name, value]);
    const values = fields.get(name);
    if (values === undefined) fields.set(name, [value]);
    else values.push(value);
  }
  fields.delete("__proto__");
  const entries = [...fields].map(([name, all]) => [name, all.length === 1 ? all[0] : all]);
  return { bytes, json: Object.fromEntries(entries) };
}

const plus = 0x2b;
const space = 0x20;

/** A plus means a space. URLSearchParams takes ten times as long where there are any. */
export function withoutPluses(form: Buffer): Buffer {
  const spaced = Buffer.from(form);
  for (let at = spaced.indexOf(plus); at >= 0 && at < spaced.length; at += 1) {
    if (spaced[at] === plus) spaced[at] = space;
  }
  return spaced;
}

/** Counted before the form is parsed, which takes far longer than counting. */
function refuseManyFields(text: string): void {
  if (!hasMoreFields(text, formFieldsMax)) return;
  const message = `The form has more than ${formFieldsMax} fields.`;
  throw new Refusal("bad_request", "body.too_many_fields", message);
}

/** No query of the service has more than a few dozen parameters. */
const parametersMax = 500;

/**
 * Koa parses a query in a time that grows with the square of the number of its parameters.
 *
 * @throws Refusal 400 `query.too_many_parameters`
 */
export function refuseManyParameters(query: string): void {
  if (!hasMoreFields(query, parametersMax)) return;
  const message = `The query has more than ${parametersMax} parameters.`;
  throw new Refusal("bad_request", "query.too_many_parameters", message);
}

function hasMoreFields(text: string, max: number): boolean {
  let fields = 1;
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) {
    fields += 1;
    if (fields > max) return true;
  }
  return false;
}

async function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const tooLarge = () =>
    new Refusal("too_large", "body.too_large", `The body is over ${limits.bytesMax} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > limits.bytesMax) throw tooLarge();

  sendContinue(request);
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const tooSlow = () =>
      settle(() => reject(new HttpRefusal(408, "body.too_slow", "The body took too long.")));
    const timer = setTimeout(tooSlow, limits.timeoutMs);

    const idle = setTimeout(tooSlow, idleMs);
    const onData = (chunk: Buffer) => {
      idle.refresh();
      length += chunk.length;
      if (length > limits.bytesMax) settle(() => reject(tooLarge()));
      else chunks.push(chunk);
    };
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks)));
    const onDisconnect = () =>
      settle(() => reject(new HttpRefusal(400, "body.cut", "The body was cut.")));
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      clearTimeout(idle);
      request
        .off("data", onData)
        .off("end", onEnd)
        .off("error", onDisconnect)
        .off("close", onDisconnect);
      request.pause();
      finish();
    };
    request.on("data", onData).on("end", onEnd).on("error", onDisconnect).on("close", onDisconnect);
  });
}

function parse(bytes: Buffer): unknown {
  checkJsonLimits(bytes);
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

/** Drops `__proto__` members. The depth is bounded before, so the recursion is too. */
function dropPrototypes(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Object.hasOwn(value, "__proto__")) Reflect.deleteProperty(value, "__proto__");
  for (const child of Object.values(value)) dropPrototypes(child);
}
