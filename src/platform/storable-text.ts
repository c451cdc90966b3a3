import { Refusal } from "./refusal.ts";

/** Replaces what a text cannot hold, as decoders of UTF-8 use it. */
const replacement = "\ufffd";

/**
 * Whether every store can keep a text. PostgreSQL takes no NUL, and neither UTF-8 nor JSONB takes
 * half of a surrogate pair.
 */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/**
 * What a request says: every text in it and the names of its members. Recurses: for values of bounded depth.
 *
 * @throws Refusal 422 where one is not storable
 */
export function mustBeStorable(value: unknown): void {
  if (typeof value === "string") refuseUnstorable(value);
  if (typeof value !== "object" || value === null) return;
  for (const [name, child] of Object.entries(value)) {
    refuseUnstorable(name);
    mustBeStorable(child);
  }
}

function refuseUnstorable(text: string): void {
  if (isStorableText(text)) return;
  if (text.includes("\0")) {
    throw new Refusal("unprocessable", "body.nul", "A text in the body holds a NUL character.");
  }
  const message = "A text in the body holds one half of a surrogate pair without the other half.";
  throw new Refusal("unprocessable", "body.lone_surrogate", message);
}

/** The text with U+FFFD in the place of each character that no store can keep. */
export function storableText(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll("\0", replacement);
}

/** Control characters, and what ends a line: no part of a title or name. */
export const notInLine = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** The text on one line, with a space in the place of what is no part of a line. */
export function oneLineOf(text: string): string {
  return text.replaceAll(new RegExp(`${notInLine.source}+`, "gu"), " ").trim();
}

/** The first `lengthMax` UTF-16 units at most; a surrogate pair is kept whole or left out. */
export function clipText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const clipped = text.slice(0, lengthMax);
  return /[\ud800-\udbff]$/.test(clipped) ? clipped.slice(0, -1) : clipped;
}

/** Bytes of a text inside of a JSON document: a control character takes six of them. */
export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/** As much of the beginning of a text as takes at most so many bytes inside of a JSON document. */
export function clipJson(text: string, bytesMax: number): string {
  const short = clipText(text, bytesMax);
  if (jsonBytes(short) <= bytesMax) return short;
  let bytes = 0;
  let length = 0;
  for (const character of short) {
    bytes += jsonBytes(character);
    if (bytes > bytesMax) break;
    length += character.length;
  }
  return short.slice(0, length);
}

/**
 * A JSON value with all its texts and keys storable; the same object where nothing had to change.
 * Recurses: for values of bounded depth, such as the data of events.
 */
export function storableValue<Value>(value: Value): Value {
  // The result has the shape of the value: only characters of its texts differ.
  return isStorableValue(value) ? value : (storableCopy(value) as Value);
}

function storableCopy(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(storableCopy);
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [storableText(key), storableCopy(item)]));
}

/** Whether all texts and keys of a JSON value are storable: nearly always, so this makes no copy. */
export function isStorableValue(value: unknown): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isStorableValue);
  return Object.keys(value).every(isStorableText) && Object.values(value).every(isStorableValue);
}
