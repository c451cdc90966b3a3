import { badFile } from "./coordinates.ts";

/** Of one manifest; real ones have some KiB. */
export const manifestBytesMax = 1024 ** 2;

/** Without the empty lines at its end; `/\n+$/` would take a square of the time. */
export function withoutLastLines(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}

/** UTF-8, with or without a byte order mark. @throws Refusal 422 */
export function manifestText(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badFile(`Its ${name} is not UTF-8.`);
  }
}
