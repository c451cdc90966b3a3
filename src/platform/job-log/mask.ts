/** Shorter values are not masked: they would hide half of every log. */
const formBytesMin = 8;
const formBytesMax = 16 * 1024;
/**
 * Of a longer form, its beginning is searched for, and what follows is compared byte by byte: Node may take the square
 * of the length for longer texts.
 */
const headBytesMax = 250;
const mark = Buffer.from("[MASKED]");
const star = "*".charCodeAt(0);

/** What may not stand in a log, longest first. */
export type MaskedForms = readonly Buffer[];

/**
 * Every form of secret values that is looked for: their text, and what base64 makes of it whatever
 * stands in front of it. Values under 8 bytes or over 16 KiB are left out.
 */
export function maskedForms(values: readonly string[]): MaskedForms {
  const texts = new Set(values.flatMap((value) => formsOf(Buffer.from(value))));
  return [...texts]
    .map((text) => Buffer.from(text, "latin1"))
    .filter(({ length }) => length >= formBytesMin && length <= formBytesMax)
    .sort((a, b) => b.length - a.length);
}

function formsOf(value: Buffer): string[] {
  if (value.length < formBytesMin) return [];
  const encoded = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), value]).toString("base64");
    // Characters that mix in bits of what stands before or behind are left out.
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + value.length) * 8) / 6);
    return text.slice(from, to);
  });
  return [value.toString("latin1"), ...encoded];
}

/** Replaces every form by a mark of the same length, so that offsets into the log stay valid. */
export const mask = (log: Buffer, forms: MaskedForms): Buffer => hide(log, placesOf(log, forms));

/**
 * Where a form stands in a log. One that overlaps itself, as `abcab` does in `abcabcab`, stands there more than once: at
 * `from`, and at each further `step` while it ends by `to`.
 */
type Place = Readonly<{ from: number; to: number; length: number; step: number }>;

/** All places are found in the log as it came: values overlap, and each is to be hidden whole. */
const placesOf = (log: Buffer, forms: MaskedForms): readonly Place[] =>
  forms.flatMap((form) => placesOfOne(log, form));

function placesOfOne(log: Buffer, form: Buffer): readonly Place[] {
  const head = form.subarray(0, headBytesMax);
  let from = log.indexOf(head);
  if (from < 0) return [];
  const pattern = { form, borders: bordersOf(form) };
  const { length } = form;
  const step = length - (pattern.borders[length - 1] ?? 0);
  const places: { from: number; to: number; length: number; step: number }[] = [];
  const note = (to: number): void => {
    const last = places.at(-1);
    if (step < length && last?.to === to - step) last.to = to;
    else places.push({ from: to - length, to, length, step });
  };
  while (from >= 0) {
    let at = from + head.length;
    for (let fit = head.length; fit > 0; at += 1) {
      if (fit === length) note(at);
      const byte = log[at];
      fit = byte === undefined ? 0 : fitBehind(pattern, fit, byte);
    }
    from = log.indexOf(head, at);
  }
  return places;
}

type Pattern = Readonly<{ form: Buffer; borders: Uint32Array }>;

/** By place: how long the longest beginning of the form is that ends there, and begins behind the first byte. */
function bordersOf(form: Buffer): Uint32Array {
  const borders = new Uint32Array(form.length);
  const pattern = { form, borders };
  let fit = 0;
  for (let at = 1; at < form.length; at += 1) {
    fit = fitBehind(pattern, fit, form[at] ?? 0);
    borders[at] = fit;
  }
  return borders;
}

/**
 * How much of the beginning of a form a text ends with, behind one more byte. All bytes of a text take a time in
 * proportion to its length (Knuth, Morris, Pratt).
 *
 * @param fit the same before that byte
 */
function fitBehind({ form, borders }: Pattern, fit: number, byte: number): number {
  let left = fit === form.length ? (borders[fit - 1] ?? 0) : fit;
  while (left > 0 && form[left] !== byte) left = borders[left - 1] ?? 0;
  return form[left] === byte ? left + 1 : 0;
}

/** Places that overlap get one mark. What is cut off at the end of the log is hidden as far as it goes. */
function hide(log: Buffer, places: readonly Place[]): Buffer {
  const masked = Buffer.from(log);
  let end = 0;
  for (const { from, to } of places.toSorted((a, b) => a.from - b.from)) {
    if (from >= log.length) break;
    if (to <= end) continue;
    masked.fill(star, Math.max(from, end), Math.min(to, log.length));
    const hasRoom = from >= end && from + mark.length <= log.length;
    if (hasRoom) mark.copy(masked, from);
    end = to;
  }
  return masked;
}

/**
 * Masks what has come and says how much of it is final: the end may be the beginning of a value that
 * continues in the next piece. Only bytes that may be one are held back, so that readers see the rest.
 *
 * A value that is whole may overlap a longer one that is not: it is held back as it came, with all of that.
 *
 * @param joined what was not final before, and the new piece
 */
export function maskPiece(
  joined: Buffer,
  forms: MaskedForms,
): Readonly<{ final: Buffer; tail: Buffer }> {
  const open = Math.min(...forms.map((form) => beginningOf(form, joined)), joined.length);
  const places = placesOf(joined, forms);
  // No part of a value is final without the rest of it.
  const cut = places.reduce((first, place) => Math.min(first, startAcross(place, open)), open);
  return { final: hide(joined.subarray(0, cut), places), tail: joined.subarray(cut) };
}

/** Where a form begins that ends behind a byte: the first of those of a place. */
function startAcross({ from, to, length, step }: Place, byte: number): number {
  if (to <= byte) return byte;
  const steps = Math.max(0, Math.floor((byte - from - length) / step) + 1);
  return from + steps * step;
}

/** Where the longest end of a text begins that is the beginning of a form, but not all of it. */
function beginningOf(form: Buffer, text: Buffer): number {
  const [first = 0] = form;
  const from = text.indexOf(first, Math.max(0, text.length - form.length + 1));
  if (from < 0) return text.length;
  const pattern = { form, borders: bordersOf(form) };
  let fit = 0;
  for (let at = from; at < text.length; at += 1) fit = fitBehind(pattern, fit, text[at] ?? 0);
  return text.length - fit;
}
