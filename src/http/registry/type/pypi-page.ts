import { type Answer, jsonAnswer } from "../../core/answer.ts";
import type { NativeRequest } from "../type.ts";

export const jsonType = "application/vnd.pypi.simple.v1+json";
const htmlType = "application/vnd.pypi.simple.v1+html";

export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Whether JSON is asked for by name, and preferred to HTML. */
function wantsJson(accept: string): boolean {
  const quality = (name: string): number => {
    const part = accept.split(",").find((each) => each.trim().split(";")[0]?.trim() === name);
    return part === undefined ? -1 : Number(/;\s*q=([\d.]+)/.exec(part)?.[1] ?? 1);
  };
  const json = Math.max(quality(jsonType), quality("application/vnd.pypi.simple.latest+json"));
  return json > 0 && json >= Math.max(quality(htmlType), quality("text/html"));
}

/** A page of links, PEP 503. */
export function page(title: string, lines: readonly string[]): Answer {
  const html = `<!DOCTYPE html>
<html>
<head><meta name="pypi:repository-version" content="1.1"><title>${escaped(title)}</title></head>
<body>
${lines.join("\n")}
</body>
</html>
`;
  return { status: 200, headers: { "Content-Type": "text/html; charset=utf-8" }, body: html };
}

/** JSON (PEP 691) or HTML, as the client prefers. */
export function simple(native: NativeRequest, json: unknown, html: () => Answer): Answer {
  native.ctx.vary("Accept");
  if (!wantsJson(native.request.header("accept"))) return html();
  return { ...jsonAnswer(200, json), headers: { "Content-Type": jsonType } };
}
