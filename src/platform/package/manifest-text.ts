import { badFile } from "./coordinates.ts";

/** Of one manifest; real ones have some KiB. */
export const manifestBytesMax = 1024 ** 2;

/** UTF-8, with or without a byte order mark. @throws Refusal 422 */
export function manifestText(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badFile(`Its ${name} is not UTF-8.`);
  }
}
