import type { Route } from "./route.ts";

/** Every declared operation. What is not here does not exist: no route is mounted by hand. */
export const routes: readonly Route[] = [];
