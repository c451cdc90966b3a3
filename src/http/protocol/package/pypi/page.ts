import { pageAround } from "../../../../package/pypi/simple-page.ts";
import { type Answer, jsonAnswer, textAnswer } from "../../../core/answer.ts";
import type { NativeRequest } from "../core/type.ts";

export const jsonType = "application/vnd.pypi.simple.v1+json";
const htmlType = "application/vnd.pypi.simple.v1+html";

/** Whether the request names JSON, and prefers it to HTML. */
export function wantsJson({ ctx, request }: NativeRequest): boolean {
  ctx.vary("Accept");
  const accept = request.header("accept");
  const quality = (name: string): number => {
    const part = accept.split(",").find((each) => each.trim().split(";")[0]?.trim() === name);
    return part === undefined ? -1 : Number(/;\s*q=([\d.]+)/.exec(part)?.[1] ?? 1);
  };
  const json = Math.max(quality(jsonType), quality("application/vnd.pypi.simple.latest+json"));
  return json > 0 && json >= Math.max(quality(htmlType), quality("text/html"));
}

export const htmlPageType = "text/html; charset=utf-8";

/** A page of links, PEP 503. */
export function page(title: string, lines: readonly string[]): Answer {
  const [head, tail] = pageAround(title);
  return textAnswer(`${head}${lines.join("\n")}${tail}`, htmlPageType);
}

/** JSON (PEP 691) or HTML, as the client prefers. */
export function simple(native: NativeRequest, json: unknown, html: () => Answer): Answer {
  if (!wantsJson(native)) return html();
  return { ...jsonAnswer(200, json), headers: { "Content-Type": jsonType } };
}
