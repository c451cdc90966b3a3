/** What matching may cost. */
export type Budget = { steps: number };

export class TooManySteps extends Error {
  override readonly name = "TooManySteps";
}

/** @throws TooManySteps when the budget is used up */
export function spend(budget: Budget, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new TooManySteps("the patterns take too many steps");
}

/** Whether the characters of a part of a path, without slashes, match; pays for each comparison. */
export type Glob = (part: readonly string[], budget: Budget) => boolean;

type Token =
  | Readonly<{ kind: "run" }>
  | Readonly<{
      kind: "one";
      matches: (character: string) => boolean;
      /** Steps that one comparison takes. */
      cost: number;
    }>;

/**
 * Compiles one part of a pattern as fnmatch(3) reads it: `*`, `?`, `[…]`, a backslash before what represents
 * itself. Text without any of these is given back as it is meant.
 *
 * Matching goes back at most to the last `*`, so its time is bounded by the product of the two lengths.
 */
export function compileGlob(pattern: string): Glob | string {
  if (!/[*?[]/.test(pattern)) return pattern.replaceAll(/\\(.)/g, "$1");
  const tokens = tokensOf(pattern);
  return (part, budget) => matches(tokens, part, budget);
}

function tokensOf(pattern: string): readonly Token[] {
  const characters = [...pattern];
  const tokens: Token[] = [];
  // Where no bracket closes one, none closes those after it.
  let closes = true;
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (tokens.at(-1)?.kind !== "run") tokens.push({ kind: "run" });
    } else if (character === "?") tokens.push({ kind: "one", matches: () => true, cost: 1 });
    else if (character === "[") {
      const set: CharacterSet | undefined = closes ? setAt(characters, at) : undefined;
      closes = set !== undefined;
      tokens.push(set === undefined ? literally("[") : { kind: "one", ...set });
      at = set?.end ?? at;
    } else {
      if (character === "\\" && at + 1 < characters.length) at += 1;
      tokens.push(literally(characters[at] ?? ""));
    }
  }
  return tokens;
}

const literally = (literal: string): Token => ({
  kind: "one",
  matches: (other) => other === literal,
  cost: 1,
});

type CharacterSet = Readonly<{
  end: number;
  matches: (character: string) => boolean;
  cost: number;
}>;

/** `[abc]`, `[a-z]`, `[!a]`, `[^a]`; undefined when no bracket closes it. */
function setAt(characters: readonly string[], start: number): CharacterSet | undefined {
  let at = start + 1;
  const negated = characters[at] === "!" || characters[at] === "^";
  if (negated) at += 1;
  const ranges: (readonly [string, string])[] = [];
  for (let first = true; ; first = false) {
    const from = characters[at];
    if (from === undefined) return undefined;
    if (from === "]" && !first) break;
    const to = characters[at + 2];
    const isRange = characters[at + 1] === "-" && to !== undefined && to !== "]";
    ranges.push([from, isRange ? to : from]);
    at += isRange ? 3 : 1;
  }
  const holds = (character: string): boolean =>
    ranges.some(([from, to]) => from <= character && character <= to);
  const cost = 1 + ranges.length;
  return { end: at, matches: (character) => holds(character) !== negated, cost };
}

function matches(tokens: readonly Token[], part: readonly string[], budget: Budget): boolean {
  let token = 0;
  let at = 0;
  let run: readonly [token: number, at: number] | undefined;
  while (at < part.length) {
    const current = tokens[token];
    spend(budget, current?.kind === "one" ? current.cost : 1);
    if (current?.kind === "run") {
      run = [token + 1, at];
      token += 1;
    } else if (current?.kind === "one" && current.matches(part[at] ?? "")) {
      token += 1;
      at += 1;
    } else if (run !== undefined) {
      // The last run takes one character more.
      run = [run[0], run[1] + 1];
      [token, at] = run;
    } else return false;
  }
  // Runs do not follow each other.
  if (tokens[token]?.kind === "run") token += 1;
  return token === tokens.length;
}
