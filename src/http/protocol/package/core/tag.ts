import { packageTags } from "../../../../commands/package/tag.ts";
import type { PackageId } from "../../../../events/core/ids.ts";
import type { Deps } from "../../../core/deps.ts";
import type { RequestContext } from "../../../core/request.ts";
import { provedStamp } from "./stamp.ts";

type Tagging = Readonly<{
  packageId: PackageId;
  tag: string;
  /** Undefined takes the tag away. */
  version: string | undefined;
}>;

/** Sets or removes a tag of a package and waits until that is visible. @throws Refusal */
export async function setTag(
  { packageId, tag, version }: Tagging,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const of = { packageId, tag, ...provedStamp(request, deps) };
  const command =
    version === undefined
      ? ({ type: "RemovePackageTag", ...of } as const)
      : ({ type: "SetPackageTag", ...of, version } as const);
  await request.execute(packageTags, packageId, command);
}
