import { createHash, randomUUID } from "node:crypto";

import { handle } from "../../../src/commands/core/handle.ts";
import { packageTags } from "../../../src/commands/package/tag.ts";
import { packageVersion } from "../../../src/commands/package/version.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { PackageType } from "../../../src/events/package/version.ts";
import { coordinatesOf, packageFileIdOf } from "../../../src/package/core/coordinates.ts";
import type { TestApp, TestUser } from "../app/app.ts";
import { metadataFor } from "../app/history.ts";

type Stored = Readonly<{
  repositoryId: string;
  type: PackageType;
  name: string;
  /** As the type makes it of the name; the name in lower case when it is not given. */
  key?: string;
  groupId?: string;
  version: string;
  /** Set to the version. */
  tag?: string;
  fileName: string;
  metadata: unknown;
}>;

/** Stores a file of a package as a release that checked nothing of it did. */
export async function storedEarlier(
  { deps }: TestApp,
  { id: by }: Pick<TestUser, "id">,
  { repositoryId, type, version, fileName, metadata, ...of }: Stored,
): Promise<void> {
  const { name, groupId = "", key = name.toLowerCase() } = of;
  const packageName = { name, groupId, artifactId: name, key };
  const named = { packageName, version: { version, key: version } };
  const coordinates = coordinatesOf(repositoryId, type, named);
  const { packageVersionId: id } = coordinates;
  const digest = (algorithm: string) => createHash(algorithm).update(fileName).digest("hex");
  const file = {
    fileId: packageFileIdOf(id, fileName),
    name: fileName,
    bytes: 1,
    ...{ md5: digest("md5"), sha1: digest("sha1"), sha256: digest("sha256") },
    sha512: digest("sha512"),
    uploadType: "TRANSPORT",
    languageVersion: null,
    metadata: JSON.stringify(metadata),
  } as const;
  const userId = UserId.parse(by);
  const at = new Date().toISOString();
  const command = {
    type: "StorePackageFile",
    coordinates,
    file,
    by: userId,
    at,
  } as const;
  const order = { id, command, metadata: metadataFor(randomUUID()) };
  await deps.visible((await handle(deps.store, packageVersion, order)).position);
  if (of.tag === undefined) return;
  const { packageId } = coordinates;
  const tagging = {
    type: "SetPackageTags",
    packageId,
    tags: [of.tag],
    version,
    by: userId,
    at,
  } as const;
  const tagged = { id: packageId, command: tagging, metadata: metadataFor(randomUUID()) };
  await deps.visible((await handle(deps.store, packageTags, tagged)).position);
}
