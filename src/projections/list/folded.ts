const variants =
  "\u00b5\u017f\u0345\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86\u1c87\u1c88\u1e9b";
const letters =
  "\u03bcs\u03b9\u03c3\u03b2\u03b8\u03c6\u03c0\u03ba\u03c1\u03b5\u0432\u0434\u043e\u0441\u0442\u0442\u044a\u0463\ua64b\u1e61";

/**
 * The form in which a text is searched for: composed (NFC), and without case, as by the simple case folding of Unicode.
 * `public.folded` makes the same of what is stored.
 */
export const folded = (text: string): string =>
  text
    .normalize("NFC")
    // The only letter whose lower case is two characters.
    .replaceAll("\u0130", "i")
    .toLowerCase()
    .replaceAll(/[\u00b5-\u1e9b]/g, (letter) => letters[variants.indexOf(letter)] ?? letter);

/**
 * What the operator `~` finds as it is in texts that are folded, by their indexes. `like` takes a time of the length of
 * the text times that of the part when one is `aaa…b` and the other `aaa…`.
 */
export const partPattern = (text: string): string => `***=${folded(text)}`;
