/** A document of many megabytes takes long. */
export { parsePackument as run } from "./packument.ts";
