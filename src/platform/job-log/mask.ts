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
  const masked = Buffer.from(log);
  const joints = forms.length === 0 ? [] : jointsOf(masked);
  if (joints.length === 0) return replaceForms(masked, forms);
  // A form may go on behind a joint: it is looked for in the text without them.
  const parts = around(joints, masked);
  const text = replaceForms(Buffer.concat(parts), forms);
  let at = 0;
  for (const part of parts) at += text.copy(part, 0, at, at + part.length);
  return masked;
}

function replaceForms(text: Buffer, forms: MaskedForms): Buffer {
  for (const form of forms) {
    for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + form.length)) {
      text.fill(star, at, at + form.length);
      mark.copy(text, at);
    }
  }
  return text;
}

/**
 * Masks what has come and says how much of it is final: the end may be the beginning of a value that
 * continues in the next piece. Only bytes that may be one are held back, so that readers see the rest.
 *
 * @param joined what was not final before, and the new piece
 */
export function maskPiece(
  joined: Buffer,
  forms: MaskedForms,
): Readonly<{ final: Buffer; tail: Buffer }> {
  const masked = mask(joined, forms);
  const parts = around(forms.length === 0 ? [] : jointsOf(masked, { begun: true }), masked);
  const text = parts.length === 1 ? masked : Buffer.concat(parts);
  const begins = Math.min(...forms.map((form) => beginningOf(form, text)), text.length);
  const cut = begins === text.length ? masked.length : placeOf(begins, parts, masked);
  return { final: masked.subarray(0, cut), tail: masked.subarray(cut) };
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

/**
 * Where a line goes on in the next one: gitlab-runner ends long lines that come in pieces, and writes a time,
 * a stream and `+` before the rest. Lines of another stream may stand between; what they cut is not found.
 */
const joint = /\n\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [0-9a-f]{2}[EO]\+/g;
const anyJoint = "\n0000-00-00T00:00:00.000000Z 00O+";

type Span = readonly [from: number, to: number];

/** @param begun whether an end of the text that may become a joint counts as one */
function jointsOf(text: Buffer, { begun = false } = {}): readonly Span[] {
  const { length } = anyJoint;
  if (text.indexOf("\n") < 0) return [];
  const found = [...text.toString("latin1").matchAll(joint)].map(
    ({ index }): Span => [index, index + length],
  );
  const last = text.lastIndexOf("\n");
  if (!begun || last < 0 || last <= text.length - length) return found;
  const rest = text.toString("latin1", last);
  const isBegun = `${rest}${anyJoint.slice(rest.length)}`.match(joint) !== null;
  return isBegun ? [...found, [last, text.length]] : found;
}

/** The text without joints, in parts that share its memory. */
function around(joints: readonly Span[], text: Buffer): readonly Buffer[] {
  const begins = [0, ...joints.map(([, to]) => to)];
  const ends = [...joints.map(([from]) => from), text.length];
  return begins.map((begin, index) => text.subarray(begin, ends[index]));
}

/** Where a byte of the parts stands in the text that they are of. */
function placeOf(byte: number, parts: readonly Buffer[], text: Buffer): number {
  let before = 0;
  for (const part of parts) {
    if (byte < before + part.length) return part.byteOffset - text.byteOffset + byte - before;
    before += part.length;
  }
  return text.length;
}
