import { containerTag } from "../../../commands/container/tag.ts";
import { currentState } from "../../../commands/core/handle.ts";
import type { PackageId } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { digestOfTag, manifestsWithDigests } from "../../../projections/container/manifest.ts";
import type { RegistryRepositoryRow } from "../../../projections/registry/repository.ts";
import type { Deps } from "../../core/deps.ts";
import { authenticatedStamp } from "../package/core/stamp.ts";
import { type ContainerRequest, manifestIdOf } from "./call.ts";
import { containerRefusal } from "./error.ts";

/** OCI distribution-spec, "Pulling manifests". */
const form = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;

/** @throws HttpRefusal 400 */
export function mustBeTag(text: string): void {
  if (form.test(text)) return;
  const message = "A tag is up to 128 letters, digits, dots, underscores and dashes.";
  throw containerRefusal(400, "MANIFEST_INVALID", message);
}

const streamId = (packageId: PackageId, tag: string): string =>
  deterministicId("container tag", packageId, tag);

type Tagged = Readonly<{ packageId: PackageId; tag: string }>;
type Tagging = Tagged & Readonly<{ digest: string; target: RegistryRepositoryRow }>;

/** @throws Refusal 409 when it names another manifest, and the repository overwrites nothing */
export async function setTag(
  { request }: ContainerRequest,
  { packageId, tag, digest, target }: Tagging,
  deps: Deps,
): Promise<void> {
  const { settings } = target;
  const overwrite = settings.type === "LOCAL" && settings.packageReuploadType === "OVERRIDE";
  const freed = await freedDigest({ packageId, tag }, deps);
  const of = { packageId, tag, ...authenticatedStamp(request, deps) };
  const command = { type: "SetContainerTag", ...of, digest, overwrite, freed } as const;
  await request.execute(containerTag, streamId(packageId, tag), command);
}

/** What the tag names when that is deleted, or was and came again without its tags. */
async function freedDigest(
  { packageId, tag }: Tagged,
  { store, db }: Pick<Deps, "store" | "db">,
): Promise<string | null> {
  const digest = await digestOfTag(db, packageId, tag);
  if (digest === undefined) {
    const { digest: said } = await currentState(store, containerTag, streamId(packageId, tag));
    return said;
  }
  const found = await manifestsWithDigests(db, [manifestIdOf(packageId, digest)]);
  return found.length === 0 ? digest : null;
}

export async function removeTag(
  { request }: ContainerRequest,
  { packageId, tag }: Tagged,
  deps: Deps,
): Promise<void> {
  const of = { packageId, tag, ...authenticatedStamp(request, deps) };
  const command = { type: "RemoveContainerTag", ...of } as const;
  await request.execute(containerTag, streamId(packageId, tag), command);
}
