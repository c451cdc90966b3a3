import { HttpRefusal } from "../errors.ts";
import type { RequestContext } from "../request.ts";

export type ByteRange = Readonly<{ first: number; last: number }>;

/**
 * One range of bytes; RFC 9110, 14.1.2. Several ranges, and units other than bytes, are ignored, as
 * the RFC allows: the whole is answered.
 *
 * @returns undefined for the whole, "unsatisfiable" for a range that begins after the end
 */
export function byteRange(header: string, bytes: number): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim());
  const [, from = "", to = ""] = match ?? [];
  if (match === null || (from === "" && to === "")) return undefined;
  if (from === "") {
    const length = Math.min(Number(to), bytes);
    return length === 0 ? "unsatisfiable" : { first: bytes - length, last: bytes - 1 };
  }
  const first = Number(from);
  const last = to === "" ? bytes - 1 : Math.min(Number(to), bytes - 1);
  if (to !== "" && Number(to) < first) return undefined;
  return first >= bytes ? "unsatisfiable" : { first, last };
}

/** The requested part of a content, and how the answer describes it. */
export type Portion = ByteRange &
  Readonly<{
    /** Undefined for the whole. */
    part: Readonly<{ first: number; last: number; total: number }> | undefined;
    /** In the portion. */
    bytes: number;
  }>;

/**
 * The part of a content that a request selects by Range, and by If-Range only of this very content.
 *
 * @param tag its strong entity tag, without quotes
 * @throws HttpRefusal 416 `blob.range_unsatisfiable`
 */
export function requestedPortion(
  { header }: Pick<RequestContext, "header">,
  { tag, bytes }: Readonly<{ tag: string; bytes: number }>,
): Portion {
  const condition = header("if-range");
  const range = condition === "" || condition === `"${tag}"` ? header("range") : "";
  const part = byteRange(range, bytes);
  if (part === "unsatisfiable") {
    const headers = { "Content-Range": `bytes */${bytes}` };
    throw new HttpRefusal(416, "blob.range_unsatisfiable", `There are ${bytes} bytes.`, headers);
  }
  const { first, last } = part ?? { first: 0, last: bytes - 1 };
  return { first, last, bytes: last - first + 1, part: part && { ...part, total: bytes } };
}
