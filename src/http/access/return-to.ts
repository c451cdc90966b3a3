const lengthMax = 8_000;
const elsewhere = "http://elsewhere.invalid";

/**
 * Where a user goes after the login: a path of ours, never another site. The text is parsed as a
 * browser does (which drops tabs and takes a backslash for a slash), and the parsed path is used, not
 * the text that was sent.
 */
export function returnPath(text: unknown, otherwise: string): string {
  if (typeof text !== "string" || text.length > lengthMax || !text.startsWith("/"))
    return otherwise;
  if (!URL.canParse(text, elsewhere)) return otherwise;
  const url = new URL(text, elsewhere);
  // `/.//host` has a path that, alone, would name a host.
  const leaves = url.origin !== elsewhere || url.pathname.startsWith("//");
  return leaves ? otherwise : url.pathname + url.search;
}
