import type { Projection } from "./projection.ts";

/** Every read model, sorted by name. */
export const allProjections: readonly Projection[] = [];
