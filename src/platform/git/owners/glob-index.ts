import { type Budget, type Glob, literalPieces, spend } from "./path-glob.ts";

type Entry<Value> = Readonly<{ pattern: string; glob: Glob; value: Value }>;

/** Longer pieces of patterns are looked up by this much of them. */
const keyLengthMax = 8;

/**
 * Globs by a piece of text that what they match must contain, so that a name is compared with few of them. Of
 * the pieces of a glob the one is taken that the fewest others have.
 */
export class GlobIndex<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  #byLength: ReadonlyMap<number, ReadonlyMap<string, readonly Entry<Value>[]>> | undefined;
  /** Without any piece of text, such as `?*`. */
  #others: readonly Entry<Value>[] = [];

  /** The value that the pattern has already, or else the new one. */
  add(pattern: string, glob: Glob, newValue: () => Value): Value {
    const known = this.#entries.get(pattern);
    if (known !== undefined) return known.value;
    const value = newValue();
    this.#entries.set(pattern, { pattern, glob, value });
    this.#byLength = undefined;
    return value;
  }

  /** @throws TooManySteps when the budget is used up */
  matching(part: string, budget: Budget): readonly Value[] {
    if (this.#entries.size === 0) return [];
    const characters = [...part];
    return this.#candidates(part, budget)
      .filter(({ glob }) => glob(characters, budget))
      .map(({ value }) => value);
  }

  #candidates(part: string, budget: Budget): readonly Entry<Value>[] {
    this.#byLength ??= this.#build();
    const found = new Set(this.#others);
    for (const [length, byKey] of this.#byLength) {
      spend(budget, part.length);
      for (let at = 0; at + length <= part.length; at += 1) {
        for (const entry of byKey.get(part.slice(at, at + length)) ?? []) {
          spend(budget, 1);
          found.add(entry);
        }
      }
    }
    return [...found];
  }

  #build() {
    const entries = [...this.#entries.values()];
    const keys = entries.map(({ pattern }) => keysOf(pattern));
    const counts = new Map<string, number>();
    for (const key of keys.flat()) counts.set(key, (counts.get(key) ?? 0) + 1);
    const others: Entry<Value>[] = [];
    const byLength = new Map<number, Map<string, Entry<Value>[]>>();
    for (const [at, entry] of entries.entries()) {
      const key = rarest(keys[at] ?? [], counts);
      if (key === undefined) {
        others.push(entry);
        continue;
      }
      const byKey = byLength.get(key.length) ?? new Map<string, Entry<Value>[]>();
      byLength.set(key.length, byKey);
      const sharing = byKey.get(key) ?? [];
      byKey.set(key, sharing);
      sharing.push(entry);
    }
    this.#others = others;
    return byLength;
  }
}

/** Beginnings and ends of the pieces, each once. */
function keysOf(pattern: string): readonly string[] {
  const pieces = literalPieces(pattern);
  const ends = pieces.flatMap((piece) => [
    piece.slice(0, keyLengthMax),
    piece.slice(-keyLengthMax),
  ]);
  return [...new Set(ends)];
}

function rarest(keys: readonly string[], counts: ReadonlyMap<string, number>): string | undefined {
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const key of keys) {
    const count = counts.get(key) ?? 0;
    if (count > least || (count === least && key.length <= (best?.length ?? 0))) continue;
    best = key;
    least = count;
  }
  return best;
}
