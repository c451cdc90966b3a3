/** Many patterns for many files take long. */
export { askOwners as run } from "./owner-demand.ts";
