import { type Html, html, type Piece } from "../core/html.ts";
import { userPath } from "./address.ts";

/**
 * Controls, line separators, what turns the direction of writing, and what takes no room: a name that
 * holds them looks like another one.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffd]/gu;

/** A name from outside, with what cannot be seen in it written as `<U+202E>`. */
export function seen(name: string): string {
  return name.replaceAll(unseen, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return `<U+${point.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** The same for a text of several lines. */
export const seenText = (text: string): string =>
  text
    .split(/(\r?\n|\t)/)
    .map(lineOrBreak)
    .join("");

const lineOrBreak = (part: string, index: number): string => (index % 2 === 0 ? seen(part) : part);

/** Without names' tricks, and short enough for one line. */
export function brief(text: string, lengthMax = 120): string {
  const line = seen(text.replaceAll(/\s+/g, " ").trim());
  return line.length <= lengthMax ? line : `${line.slice(0, lengthMax).toWellFormed()}…`;
}

/** The name of a file: nothing in it is taken for a space. */
export function briefName(name: string, lengthMax = 120): string {
  const printable = seen(name);
  return printable.length <= lengthMax
    ? printable
    : `${printable.slice(0, lengthMax).toWellFormed()}…`;
}

/** An instant of an answer, as text and for programs. */
export function when(instant: string): Html {
  return html`<time datetime="${instant}">${instant.slice(0, 16).replace("T", " ")} UTC</time>`;
}

export const shortHash = (hash: string): string => hash.slice(0, 10);

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes for people. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  if (bytes === 1) return "1 byte";
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

type Person = Readonly<{ username: string; fullName: string }>;

/** Who was forgotten has no page. */
export const person = (base: string, { username, fullName }: Person): Html =>
  username === ""
    ? html`${seen(fullName)}`
    : html`<a href="${base}${userPath(username)}">${seen(fullName)}</a>`;

/** People in a row; a dash for none. */
export function people(base: string, all: readonly Person[]): Html {
  if (all.length === 0) return html`–`;
  return html`${all.map((one, index) => html`${index > 0 && ", "}${person(base, one)}`)}`;
}

type Label = Readonly<{ title: string; hexColor: string }>;

/** A label: its colour as a dot, since text on a colour that people choose may not be readable. */
export const labelPiece = ({ title, hexColor }: Label): Html =>
  html`<span class="label"><svg class="dot" viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" fill="${hexColor}"></circle></svg>${seen(title)}</span>`;

/** A status: a word in a frame whose colour says the same. */
export const statusPiece = (id: string, title = id): Html =>
  html`<span class="status s-${id.toLowerCase().replaceAll("_", "-")}">${title.replaceAll("_", " ").toLowerCase()}</span>`;

const wordLengthMax = 32;

/** A name of ours as it is, such as a code: not broken into lines where there is room. */
export const word = (text: string): Html | string =>
  text.length > wordLengthMax ? text : html`<span class="word">${text}</span>`;

export const nothing = (text: string): Html => html`<p class="hint">${text}</p>`;

/** An empty list: what it would hold, and how the first comes about. */
export const empty = (text: string, next: Piece): Html =>
  html`<div class="empty"><p>${text}</p><p class="hint">${next}</p></div>`;

type NoneListed = Readonly<{
  /** The fields that are set narrow the list. */
  filter: Readonly<Record<string, unknown>>;
  /** Of the whole list. */
  address: string;
  /** How the first comes about. */
  next: Piece;
}>;

/** What a page says where its list has no rows. */
export const noneListed = (
  [one, many]: readonly [one: string, many: string],
  { filter, address, next }: NoneListed,
): Html =>
  empty(
    `No ${many}.`,
    Object.values(filter).some((value) => value !== undefined)
      ? html`No ${one} matches the filter. <a href="${address}">Show all</a>`
      : next,
  );
