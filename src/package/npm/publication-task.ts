/** A document of many megabytes takes long. */
export { parsePublication as run } from "./publication.ts";
