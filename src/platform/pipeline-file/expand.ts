/** Longest text that variables expand to; what is longer stays as it is written. */
const expandedLengthMax = 64 * 1024;
const roundsMax = 20;

export type Variables = ReadonlyMap<string, string>;

/**
 * Puts the values of variables into a text: `$NAME`, `${NAME}`; `$$` is a dollar sign. What is not
 * defined becomes empty.
 */
export function expandText(text: string, lookup: (name: string) => string | undefined): string {
  if (!text.includes("$")) return text;
  const expanded = text.replaceAll(
    /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)/g,
    (whole, braced: string | undefined, bare: string | undefined) =>
      whole === "$$" ? "$" : (lookup(braced ?? bare ?? "") ?? ""),
  );
  return expanded.length > expandedLengthMax ? text : expanded;
}

/**
 * The values of variables that name one another. Each is expanded once, after those it names; a
 * circle, and what grows beyond the limit, stays as it is written.
 *
 * @param raw names whose values hold no references
 */
export function expandVariables(variables: Variables, raw: ReadonlySet<string>): Variables {
  const done = new Map<string, string>();
  const underWay = new Set<string>();

  function resolved(name: string): string | undefined {
    const known = done.get(name);
    if (known !== undefined) return known;
    const written = variables.get(name);
    if (written === undefined) return undefined;
    if (raw.has(name) || !written.includes("$")) return written;
    if (underWay.has(name) || underWay.size > roundsMax) return `$${name}`;
    underWay.add(name);
    const value = expandText(written, resolved);
    underWay.delete(name);
    // Inside a circle the value depends on where it was entered: only whole ones are kept.
    if (underWay.size === 0) done.set(name, value);
    return value;
  }

  return new Map([...variables.keys()].map((name) => [name, resolved(name) ?? ""]));
}
