/**
 * The text without any of the characters at its end. A regular expression such as `/\/+$/` reads a run that ends
 * earlier again from each of its characters.
 */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The text without any of the characters at either end. */
export function trimmedOf(text: string, characters: string): string {
  let start = 0;
  while (start < text.length && characters.includes(text.charAt(start))) start += 1;
  return withoutTrailing(text.slice(start), characters);
}
