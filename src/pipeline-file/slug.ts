import { trimmedOf } from "../platform/trim.ts";

const slugLengthMax = 63;

/** A name as it may stand in a host name: `feature/Search` is `feature-search`. */
export function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .slice(0, 1_024)
    .replaceAll(/[^a-z0-9]/g, "-");
  return trimmedOf(slug.slice(0, slugLengthMax), "-");
}
