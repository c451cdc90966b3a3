import { isDeepStrictEqual } from "node:util";

/** Whether all fields are alike. An optional one that is left out is like one that is false or null. */
export function sameFields<Fields extends object>(one: Fields, other: Fields): boolean {
  // Object.keys of fields whose names are those of the type.
  const names = Object.keys({ ...one, ...other }) as (keyof Fields)[];
  return names.every((name) => isDeepStrictEqual(one[name] ?? false, other[name] ?? false));
}
