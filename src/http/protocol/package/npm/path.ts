import type { PackageName } from "../../../../package/core/coordinates.ts";
import { npmName } from "../../../../package/npm/format.ts";
import type { NativeRequest } from "../core/type.ts";

export const jsonType = "application/json; charset=utf-8";
/** Of the document that has what an installation needs. */
export const shortType = "application/vnd.npm.install-v1+json";

/** A name in a path, which `nameIn` reads. */
export const name = "(?<name>@[^/]+/[^/]+|[^@/-][^/]*)";
export const at = (rest: string): RegExp => new RegExp(`^${name}${rest}$`);

/** @throws Refusal 422 */
export function nameIn(params: NativeRequest["params"]): PackageName {
  const [first = "", second] = (params["name"] ?? "").split("/");
  return second === undefined ? npmName(undefined, first) : npmName(first, second);
}
