import { escapeHtml } from "./highlight-html.ts";
import { withoutTrailing } from "./trim.ts";

/** A longer line is cut. */
const lineLengthMax = 10_000;

/** Faces are bits, since a page of a log may change them a hundred thousand times. */
type Look = Readonly<{ colour: number | null; faces: number }>;
const plain: Look = { colour: null, faces: 0 };

/** Escape sequences (ECMA-48, 5.4): control sequences, strings such as titles and links, single ones. */
const sequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they begin with.
  /\u001b\[([0-?]{0,64})[ -/]{0,8}([@-~])|\u001b[\]PX^_][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\)?|\u001b[ -/]{0,4}[0-~]?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Lines of a terminal's text as HTML: colours and faces as classes, everything else escaped. Sequences
 * that move the cursor, set titles or make links have no effect. Text that was overwritten after a carriage
 * return is left out.
 */
export class AnsiLines {
  #look: Look = plain;
  /** The tag that stands before a text of this look; none for plain text. */
  #span = "";

  /** @param line without its newline */
  line(line: string): string {
    const cut = line.length > lineLengthMax ? line.slice(0, lineLengthMax) : line;
    const shown = overwritten(cut).toWellFormed();
    let html = "";
    let at = 0;
    for (const match of shown.matchAll(sequence)) {
      html += this.#piece(shown.slice(at, match.index));
      at = match.index + match[0].length;
      if (match[2] === "m") this.#change(match[1] ?? "");
    }
    html += this.#piece(shown.slice(at));
    return line.length > lineLengthMax ? `${html}…` : html;
  }

  #change(parameters: string): void {
    this.#look = lookAfter(this.#look, parameters);
    this.#span = spanOf(this.#look);
  }

  #piece(text: string): string {
    if (text === "") return "";
    const escaped = escapeHtml(text);
    return this.#span === "" ? escaped : `${this.#span}${escaped}</span>`;
  }
}

function overwritten(line: string): string {
  const text = withoutTrailing(line, "\r");
  const last = text.lastIndexOf("\r");
  return last < 0 ? text : text.slice(last + 1);
}

/** In the order of their bits. */
const faceClasses = ["b", "i", "u", "inv"];
const setBy: Readonly<Record<number, number>> = { 1: 1, 3: 2, 4: 4, 7: 8 };
const unsetBy: Readonly<Record<number, number>> = { 22: 1, 23: 2, 24: 4, 27: 8 };

/** By faces and colour: there are 144 looks. */
const spans = Array.from({ length: 2 ** faceClasses.length }, (_, set) =>
  [null, 0, 1, 2, 3, 4, 5, 6, 7].map((colour) => {
    const names = faceClasses.filter((_name, at) => (set & (1 << at)) !== 0);
    const classes = [...(colour === null ? [] : [`f${colour}`]), ...names];
    return classes.length === 0 ? "" : `<span class="${classes.join(" ")}">`;
  }),
);

const spanOf = ({ colour, faces }: Look): string => spans[faces]?.[(colour ?? -1) + 1] ?? "";

/** Select Graphic Rendition (ECMA-48, 8.3.117); of 256 and of 16 million colours the nearest of eight. */
function lookAfter(look: Look, parameters: string): Look {
  const codes = parameters.split(/[;:]/).map(Number);
  let { colour, faces: set } = look;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) [colour, set] = [null, 0];
    else if (code >= 30 && code <= 37) colour = code - 30;
    else if (code >= 90 && code <= 97) colour = code - 90;
    else if (code === 39) colour = null;
    else if (code === 38 || code === 48) {
      const [nearest, taken] = extended(codes.slice(index + 1, index + 5));
      if (code === 38) colour = nearest;
      index += taken;
    }
    set = (set | (setBy[code] ?? 0)) & ~(unsetBy[code] ?? 0);
  }
  return { colour, faces: set };
}

function extended([kind, first = 0, second = 0, third = 0]: readonly number[]): readonly [
  number,
  number,
] {
  if (kind === 5) {
    if (first < 16) return [first % 8, 2];
    if (first >= 232) return [first < 244 ? 0 : 7, 2];
    const cube = first - 16;
    return [nearest(cube / 36, (cube / 6) % 6, cube % 6, 3), 2];
  }
  return kind === 2 ? [nearest(first, second, third, 128), 4] : [0, 0];
}

const nearest = (red: number, green: number, blue: number, half: number): number =>
  (red >= half ? 1 : 0) + (green >= half ? 2 : 0) + (blue >= half ? 4 : 0);
