/** A list of many megabytes takes long. */
export { parseSimpleIndex as run } from "./simple-index.ts";
