/** A list of many megabytes takes long. */
export { askSimpleIndex as run } from "./simple-index.ts";
