/** Longest text that variables expand to; what is longer stays as it is written. */
const expandedLengthMax = 64 * 1024;
const depthMax = 20;
/** Values that are looked up while the variables of a job are expanded. */
const lookupsMax = 20_000;

export type Variables = ReadonlyMap<string, string>;
/** Variables that are looked up only. */
export type Values = Pick<Variables, "get">;

/** Earlier layers win. */
export function layered(...layers: readonly Values[]): Values {
  const get = (name: string): string | undefined => {
    for (const layer of layers) {
      const value = layer.get(name);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  return { get };
}

const dollars = /\$(?:\$|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})/g;
const dollarsAndPercents =
  /\$(?:\$|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})|%(?:[A-Za-z_][A-Za-z0-9_]*)?%/g;

type Lookup = (name: string) => string | undefined;

/**
 * Puts the values of variables into a text: `$NAME`, `${NAME}`; `$$` is a dollar sign. What is not
 * defined becomes empty.
 */
export function expandText(text: string, lookup: Lookup): string {
  if (!text.includes("$")) return text;
  return expandForms(text, dollars, (_, name) => lookup(name) ?? "");
}

/**
 * As `expandText`, and `%NAME%`, for what the service expands whatever the shell of the job is. That stays as it is
 * written where there is no such variable: addresses have `%C3%A4`.
 *
 * @param keep whether `$NAME` and `${NAME}` stay then too
 */
export function expandOwnText(text: string, lookup: Lookup, { keep = false } = {}): string {
  if (!/[$%]/.test(text)) return text;
  return expandForms(text, dollarsAndPercents, (whole, name) =>
    whole.startsWith("%")
      ? (lookup(whole.slice(1, -1)) ?? whole)
      : (lookup(name) ?? (keep ? whole : "")),
  );
}

/** @param replacement what is put in the place of a form, of which the name is known where it begins with a dollar sign */
function expandForms(
  text: string,
  forms: RegExp,
  replacement: (whole: string, name: string) => string,
): string {
  // Counted while it grows: the whole could be many times larger than what is kept.
  let length = 0;
  let end = 0;
  const expanded = text.replaceAll(
    forms,
    (...[whole, bare, braced, at]: [string, string | undefined, string | undefined, number]) => {
      if (length > expandedLengthMax) return "";
      const value = whole === "$$" ? "$" : replacement(whole, bare ?? braced ?? "");
      length += at - end + value.length;
      end = at + whole.length;
      return value;
    },
  );
  return Math.max(length, expanded.length) > expandedLengthMax ? text : expanded;
}

/**
 * The values of variables that name one another. Each is expanded once, after those it names; a
 * circle, and what grows beyond the limits, stays as it is written.
 *
 * @param raw names whose values hold no references
 */
export function expandVariables(variables: Variables, raw: ReadonlySet<string>): Variables {
  const look = expander(variables, raw);
  return new Map([...variables.keys()].map((name) => [name, look(name) ?? ""]));
}

/**
 * As `expandVariables`, one at a time: those that are not looked up take no time.
 *
 * @param note called with the length of each value that is looked up, also of those that others name
 */
export function expander(
  variables: Values,
  raw: Pick<ReadonlySet<string>, "has">,
  note?: (length: number) => void,
): (name: string) => string | undefined {
  const done = new Map<string, string>();
  const underWay = new Set<string>();
  let lookups = 0;
  /** Names left as they are written so far, because a circle or a limit was met. */
  let left = 0;

  function look(name: string): string | undefined {
    const value = resolved(name);
    note?.(value?.length ?? 0);
    return value;
  }

  function resolved(name: string): string | undefined {
    const known = done.get(name);
    if (known !== undefined) return known;
    const written = variables.get(name);
    if (written === undefined) return undefined;
    if (raw.has(name) || !written.includes("$")) return written;
    lookups += 1;
    if (underWay.has(name) || underWay.size > depthMax || lookups > lookupsMax) {
      left += 1;
      return `$${name}`;
    }
    const leftBefore = left;
    underWay.add(name);
    const value = expandText(written, look);
    underWay.delete(name);
    // Inside a circle the value depends on where it was entered: only whole ones are kept.
    if (underWay.size === 0 || left === leftBefore) done.set(name, value);
    return value;
  }

  return look;
}
