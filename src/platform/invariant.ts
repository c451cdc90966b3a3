/** For programmer errors only: what a caller may do wrong is a Refusal. */
export function invariant(condition: unknown, text: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${text}`);
}

/** Closes a switch over a union: adding a member becomes a type error. */
export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`);
}
