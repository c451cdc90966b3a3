import { packageTags } from "../../../../commands/package/tag.ts";
import type { PackageId } from "../../../../events/core/ids.ts";
import type { Deps } from "../../../core/deps.ts";
import type { RequestContext } from "../../../core/request.ts";
import { authenticatedStamp } from "./stamp.ts";

type Tagging = Readonly<{ packageId: PackageId; tags: readonly string[]; version: string }>;

/** Sets tags of a package and waits until that is visible. @throws Refusal */
export async function setTags(
  { packageId, tags, version }: Tagging,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const of = { packageId, ...authenticatedStamp(request, deps) };
  await request.execute(packageTags, packageId, { type: "SetPackageTags", ...of, tags, version });
}

/** Removes a tag of a package and waits until that is visible. @throws Refusal */
export async function removeTag(
  { packageId, tag }: Readonly<{ packageId: PackageId; tag: string }>,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const of = { packageId, tag, ...authenticatedStamp(request, deps) };
  await request.execute(packageTags, packageId, { type: "RemovePackageTag", ...of });
}
