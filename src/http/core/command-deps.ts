import type { Deps } from "./deps.ts";

/** What processes over commands take, out of what handlers have. */
export function commandDeps({ store, vault, now }: Deps) {
  return { store, vault, now: () => now().toISOString() };
}
