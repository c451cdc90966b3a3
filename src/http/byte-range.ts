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
