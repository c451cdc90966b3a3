/** Many patterns for many files take long. */
export { findOwners as run } from "./owner-demand.ts";
