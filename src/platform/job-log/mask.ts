import { breather } from "../breather.ts";

/** Shorter values are not masked: they would hide half of every log. */
const formBytesMin = 8;
const formBytesMax = 16 * 1024;
/**
 * Of a longer form, its beginning is searched for, and what follows is compared byte by byte: Node may take the square
 * of the length for longer texts.
 */
const headBytesMax = 250;
/**
 * Programs break base64 into lines of 64 or 76 characters; a line is recognized by its last 48. One that is not whole
 * yet is held back from 17 characters on: of 64, at least 48 are then in memory when its end comes.
 */
const [brokenLineMin, heldLineMin] = [48, 17];
const cutRoundsMax = 8;
const mark = Buffer.from("[MASKED]");
const star = "*".charCodeAt(0);

type Form = Readonly<{
  bytes: Buffer;
  /** Whether it is base64: programs break it into lines. */
  isEncoded: boolean;
  /** Whether the character behind it has bits of the value, and of what stands behind the value. */
  isMixedBehind: boolean;
}>;

/** What may not stand in a log, longest first. */
export type MaskedForms = readonly Form[];

/**
 * Returns the forms of secret values to mask: their text, and its base64 in both alphabets of RFC 4648 and at each of
 * the three offsets that text before it can give it. Values under 8 bytes or over 16 KiB are left out.
 */
export async function maskedForms(values: readonly string[]): Promise<MaskedForms> {
  const breathe = breather();
  const byText = new Map<string, Form>();
  for (const value of new Set(values)) {
    // Projects, teams, companies and the service have a mebibyte of values each.
    await breathe();
    for (const [text, { isEncoded, isMixedBehind }] of formsOf(value)) {
      // One value may be the base64 of another: what holds for either is looked for.
      const same = byText.get(text);
      byText.set(text, {
        bytes: same?.bytes ?? Buffer.from(text, "latin1"),
        isEncoded: isEncoded || same?.isEncoded === true,
        isMixedBehind: isMixedBehind || same?.isMixedBehind === true,
      });
    }
  }
  return [...byText.values()].sort((a, b) => b.bytes.length - a.bytes.length);
}

type FormOf = readonly [text: string, Omit<Form, "bytes">];

/** Their texts have a character for each byte. */
function formsOf(value: string): readonly FormOf[] {
  const bytes = value.length > formBytesMax ? Buffer.alloc(0) : Buffer.from(value);
  if (bytes.length < formBytesMin || bytes.length > formBytesMax) return [];
  const encoded = [0, 1, 2].flatMap((before): readonly FormOf[] => {
    // Characters that mix in bits of what stands before or behind are left out.
    const from = Math.ceil((before * 8) / 6);
    const bits = (before + bytes.length) * 8;
    const prefixed = Buffer.concat([Buffer.alloc(before), bytes]);
    const text = prefixed.toString("base64").slice(from, Math.floor(bits / 6));
    if (text.length < formBytesMin || text.length > formBytesMax) return [];
    const how = { isEncoded: true, isMixedBehind: bits % 6 > 0 };
    const inUrls = text.replaceAll("+", "-").replaceAll("/", "_");
    return text === inUrls
      ? [[text, how]]
      : [
          [text, how],
          [inUrls, how],
        ];
  });
  return [...encoded, [bytes.toString("latin1"), { isEncoded: false, isMixedBehind: false }]];
}

/** Replaces every form by a mark of the same length, so that offsets into the log stay valid. */
export const mask = (log: Buffer, forms: MaskedForms): Buffer =>
  hide(log, readingsOf(log, forms).flatMap(spansOf));

/**
 * Where a form stands in a log. One that overlaps itself, as `abcab` does in `abcabcab`, stands there more than once: at
 * `from`, and at each further `step` while it ends by `to`.
 */
type Place = Readonly<{ from: number; to: number; length: number; step: number }>;

function placesOf(log: Buffer, { bytes: form, isMixedBehind }: Form): readonly Place[] {
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
  if (!isMixedBehind) return places;
  const extra = ({ to }: Place): number => (to === log.length || isBase64(log[to]) ? 1 : 0);
  return places.map((place) => {
    const more = extra(place);
    return { ...place, to: place.to + more, length: length + more };
  });
}

const [feed, carriageReturn] = [0x0a, 0x0d];
const base64 = new Set(
  Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"),
);
/** In either alphabet of RFC 4648. */
const isBase64 = (byte: number | undefined): boolean => byte !== undefined && base64.has(byte);

type Break = Readonly<{
  /** In the text that lacks it. */
  at: number;
  /** In the log. */
  from: number;
  /** Bytes that the text lacks up to its end. */
  lacking: number;
}>;

/** A log as forms are looked for in it. */
type Reading = Readonly<{
  text: Buffer;
  /** Line breaks that the text lacks. */
  breaks: readonly Break[];
  forms: MaskedForms;
  places: readonly Place[];
}>;

/** The log as it came, in which all places are found, and without the line breaks inside base64. */
function readingsOf(log: Buffer, forms: MaskedForms): readonly Reading[] {
  const encoded = forms.filter(({ isEncoded }) => isEncoded);
  const { text, breaks } = encoded.length === 0 ? { text: log, breaks: [] } : withoutBreaks(log);
  const whole = reading({ text: log, breaks: [], forms });
  return breaks.length === 0 ? [whole] : [whole, reading({ text, breaks, forms: encoded })];
}

const reading = (given: Omit<Reading, "places">): Reading => ({
  ...given,
  places: given.forms.flatMap((form) => placesOf(given.text, form)),
});

function withoutBreaks(log: Buffer): Pick<Reading, "text" | "breaks"> {
  const breaks: Break[] = [];
  const parts: Buffer[] = [];
  let [end, lacking] = [0, 0];
  const note = (from: number, to: number): void => {
    if (runBefore(log, from) < brokenLineMin) return;
    parts.push(log.subarray(end, from));
    end = to;
    lacking += to - from;
    breaks.push({ at: end - lacking, from, lacking });
  };
  for (let at = log.indexOf(feed); at >= 0; at = log.indexOf(feed, at + 1)) {
    note(log[at - 1] === carriageReturn ? at - 1 : at, at + 1);
  }
  // The rest of the line break may follow.
  if (log.at(-1) === carriageReturn) note(log.length - 1, log.length);
  return { text: Buffer.concat([...parts, log.subarray(end)]), breaks };
}

/** How many characters of base64 stand in front of a byte, of as many as a line is known by. */
function runBefore(log: Buffer, end: number): number {
  let from = end;
  while (from > end - brokenLineMin && isBase64(log[from - 1])) from -= 1;
  return end - from;
}

/** How many of the first breaks fulfil a condition that holds for no later one. */
function countWhile(breaks: readonly Break[], holds: (one: Break) => boolean): number {
  let [low, high] = [0, breaks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = breaks[middle];
    if (one !== undefined && holds(one)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where a byte of the text of a reading stands in the log. */
const inLog = ({ breaks }: Reading, byte: number): number =>
  byte + (breaks[countWhile(breaks, ({ at }) => at <= byte) - 1]?.lacking ?? 0);

/** Where a byte of the log, or the first one behind it that is no break, stands in the text of a reading. */
const inText = ({ breaks }: Reading, byte: number): number =>
  byte - (breaks[countWhile(breaks, ({ from }) => from < byte) - 1]?.lacking ?? 0);

/** What is to be hidden of the log: no line break. */
function spansOf(of: Reading): readonly Span[] {
  const { breaks, places } = of;
  if (breaks.length === 0) return places;
  return places.flatMap(({ from, to }) => {
    const [first, behind] = [from, to - 1].map((byte) =>
      countWhile(breaks, ({ at }) => at <= byte),
    );
    const inside = breaks.slice(first, behind);
    const starts = [inLog(of, from), ...inside.map((one) => inLog(of, one.at))];
    const ends = [...inside.map((one) => one.from), inLog(of, to - 1) + 1];
    return starts.map((start, at) => ({ from: start, to: ends[at] ?? start }));
  });
}

/** Where the first value begins in the log that may continue behind it. */
const openOf = (of: Reading): number =>
  inLog(of, Math.min(...of.forms.map((form) => beginningOf(form, of.text)), of.text.length));

/** Where the first value begins that stands on both sides of a byte of the log. */
function startAcrossAll(of: Reading, byte: number): number {
  const at = inText(of, byte);
  const first = of.places.reduce((least, place) => Math.min(least, startAcross(place, at)), at);
  return first === at ? byte : inLog(of, first);
}

/** A line that is held back in part is held back with as many characters as it is known by. */
function startOfBroken(breaks: readonly Break[], byte: number): number {
  const next = breaks[countWhile(breaks, ({ from }) => from <= byte)];
  return next === undefined ? byte : Math.min(byte, Math.max(next.from - brokenLineMin, 0));
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

type Span = Readonly<{ from: number; to: number }>;

/** Spans that overlap get one mark. What is cut off at the end of the log is hidden as far as it goes. */
function hide(log: Buffer, spans: readonly Span[]): Buffer {
  const masked = Buffer.from(log);
  let end = 0;
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const { from } = span;
    const to = Math.min(span.to, log.length);
    if (from >= log.length) break;
    if (to <= end) continue;
    masked.fill(star, Math.max(from, end), to);
    const hasRoom = from >= end && from + mark.length <= to;
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
  const readings = readingsOf(joined, forms);
  const open = readings.map(openOf);
  const at = wholeBefore(readings, Math.min(...open, startOfUnfinished(joined, forms)));
  const spans = readings.flatMap(spansOf);
  return { final: hide(joined.subarray(0, at), spans), tail: joined.subarray(at) };
}

/**
 * Where the end of a log begins that may be the beginning of a line of base64. One as long as all that is there may
 * continue what is final: no more of its line may become so.
 */
function startOfUnfinished(log: Buffer, forms: MaskedForms): number {
  const run = forms.some(({ isEncoded }) => isEncoded) ? runBefore(log, log.length) : 0;
  return run < heldLineMin && run < log.length ? log.length : log.length - run;
}

/** Where the log is to be cut at or before a byte: no part of a value is final without the rest of it. */
function wholeBefore(readings: readonly Reading[], byte: number): number {
  let cut = byte;
  // The second round is for what stands in front of a broken line. More are for logs that are made for this.
  for (let round = 0; round < cutRoundsMax; round += 1) {
    const across = Math.min(...readings.map((reading) => startAcrossAll(reading, cut)), cut);
    const lineStart = Math.min(...readings.map(({ breaks }) => startOfBroken(breaks, across)));
    cut = Math.min(across, lineStart);
    if (cut === across) break;
  }
  return cut;
}

/** Where a form begins that ends behind a byte: the first of those of a place. */
function startAcross({ from, to, length, step }: Place, byte: number): number {
  if (to <= byte) return byte;
  const steps = Math.max(0, Math.floor((byte - from - length) / step) + 1);
  return from + steps * step;
}

/** Where the longest end of a text begins that is the beginning of a form, but not all of it. */
function beginningOf({ bytes: form }: Form, text: Buffer): number {
  const [first = 0] = form;
  const from = text.indexOf(first, Math.max(0, text.length - form.length + 1));
  if (from < 0) return text.length;
  const pattern = { form, borders: bordersOf(form) };
  let fit = 0;
  for (let at = from; at < text.length; at += 1) fit = fitBehind(pattern, fit, text[at] ?? 0);
  return text.length - fit;
}
