import type { UserId } from "../../events/core/ids.ts";
import type { Deps } from "./deps.ts";

/** What processes over commands take, out of what handlers have. */
export function commandDeps({ store, vault, now }: Deps) {
  return { store, vault, now: () => now().toISOString() };
}

/** Who sends a command and when, as commands name it. */
export function stampOf(
  { userId: by }: Readonly<{ userId: UserId }>,
  { now }: Pick<Deps, "now">,
): Readonly<{ by: UserId; at: string }> {
  return { by, at: now().toISOString() };
}
