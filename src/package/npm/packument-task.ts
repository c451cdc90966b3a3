/** A document of many megabytes takes long. */
export { askPackument as run } from "./packument.ts";
