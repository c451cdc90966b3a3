/** Shorter values are not masked: they would hide half of every log. */
const formBytesMin = 8;
const formBytesMax = 16 * 1024;
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
export function mask(log: Buffer, forms: MaskedForms): Buffer {
  return maskAll(log, forms).masked;
}

type Place = Readonly<{ from: number; to: number }>;

function maskAll(log: Buffer, forms: MaskedForms) {
  const masked = Buffer.from(log);
  const places: Place[] = [];
  for (const form of forms) {
    for (let at = masked.indexOf(form); at >= 0; at = masked.indexOf(form, at + form.length)) {
      masked.fill(star, at, at + form.length);
      mark.copy(masked, at);
      places.push({ from: at, to: at + form.length });
    }
  }
  return { masked, places };
}

/**
 * Masks what has come and says how much of it is final: the end may be the beginning of a value that
 * continues in the next piece. Only bytes that may be one are held back, so that readers see the rest.
 *
 * A value that is whole may be part of a longer one that is not: it is held back as it came, with all of that.
 *
 * @param joined what was not final before, and the new piece
 */
export function maskPiece(
  joined: Buffer,
  forms: MaskedForms,
): Readonly<{ final: Buffer; tail: Buffer }> {
  const { masked, places } = maskAll(joined, forms);
  const open = Math.min(...forms.map((form) => beginningOf(form, joined)), masked.length);
  // No part of a value is final without the rest of it.
  const cut = places.reduce(
    (first, { from, to }) => (to > open ? Math.min(first, from) : first),
    open,
  );
  return { final: masked.subarray(0, cut), tail: joined.subarray(cut) };
}

/** Where the longest end of a text begins that is the beginning of a form, but not all of it. */
function beginningOf(form: Buffer, text: Buffer): number {
  const [first = 0] = form;
  let at = text.indexOf(first, Math.max(0, text.length - form.length + 1));
  while (at >= 0) {
    if (text.compare(form, 0, text.length - at, at) === 0) return at;
    at = text.indexOf(first, at + 1);
  }
  return text.length;
}
