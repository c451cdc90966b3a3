/** A document of many megabytes takes long. */
export { askPublication as run } from "./publication.ts";
