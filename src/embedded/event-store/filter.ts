import { createContext, Script } from "node:vm";

import type { StoredEvent } from "./event.ts";
import { invalid } from "./failure.ts";

export type FilterOptions = Readonly<{
  on: "stream" | "type";
  /** Empty when there are prefixes instead. */
  regex: string;
  prefixes: readonly string[];
  /** Number of examined events after which the reader receives a checkpoint. */
  checkpointInterval: number;
}>;

export type Filter = Readonly<{
  checkpointInterval: number;
  /** @throws StoreFailure when the expression takes too long. */
  select: (events: readonly StoredEvent[]) => readonly StoredEvent[];
}>;

const regexLengthMax = 1_024;
const namesRememberedMax = 10_000;

/**
 * The expression is the client's, and one that backtracks for ever must not stop the server: it
 * runs where a time limit holds. Names are remembered, so that is once for each name.
 */
const regexTimeoutMs = 1_000;
const sandbox = createContext({ expression: /$/, names: [] as readonly string[] });
const match = new Script("names.map((name) => expression.test(name))");

/** @throws StoreFailure when the expression is none. */
export function createFilter({ on, regex, prefixes, checkpointInterval }: FilterOptions): Filter {
  const nameOf = (event: StoredEvent): string => (on === "stream" ? event.stream : event.type);
  if (regex === "") {
    const matches = (name: string): boolean => prefixes.some((prefix) => name.startsWith(prefix));
    return {
      checkpointInterval,
      select: (events) => events.filter((event) => matches(nameOf(event))),
    };
  }

  const expression = compile(regex);
  let known = new Map<string, boolean>();
  return {
    checkpointInterval,
    select: (events) => {
      if (known.size > namesRememberedMax) known = new Map();
      const names = new Set(events.map(nameOf).filter((name) => !known.has(name)));
      if (names.size > 0) test(expression, [...names], known);
      return events.filter((event) => known.get(nameOf(event)));
    },
  };
}

function compile(regex: string): RegExp {
  if (regex.length > regexLengthMax) throw invalid("The filter expression is too long");
  // Clients write for .NET, which knows \p{L} (Unicode mode here) and escapes freely (only without).
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(regex, flags);
    } catch {}
  }
  throw invalid("The filter expression is not a regular expression");
}

function test(expression: RegExp, names: readonly string[], known: Map<string, boolean>): void {
  Object.assign(sandbox, { expression, names });
  let matched: readonly boolean[];
  try {
    matched = match.runInContext(sandbox, { timeout: regexTimeoutMs }) as readonly boolean[];
  } catch {
    throw invalid("The filter expression takes too long");
  }
  for (const [index, name] of names.entries()) known.set(name, matched[index] === true);
}
