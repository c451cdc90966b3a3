import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { containerTagStream } from "../../../src/events/container/tag.ts";
import type { AnyEvent } from "../../../src/events/core/event.ts";
import { packageVersionStream } from "../../../src/events/package/version.ts";
import { registryRepositoryStream } from "../../../src/events/registry/repository.ts";
import {
  containerManifestProjection,
  readManifestMetadata,
} from "../../../src/projections/container/manifest.ts";
import { at, history } from "../../support/app/history.ts";
import { applyEach, reset, rowsOf } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

describe("what the read model of manifests takes from an event", () => {
  const about = { mediaType: "a/b", artifactType: null, subject: "sha256:00", blobs: [] };

  it("has no text that cannot be stored, also where the log's text hides it behind an escape", () => {
    const metadata = JSON.stringify({ ...about, annotations: { "a\0": "b\0", c: "\ud800" } });
    expect(readManifestMetadata(metadata)?.annotations).to.deep.equal({
      "a\ufffd": "b\ufffd",
      c: "\ufffd",
    });
  });

  it("is nothing of a file of another ecosystem, however deep its metadata is", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(readManifestMetadata(`{"name":"left-pad","exports":${deep}}`)).to.equal(undefined);
  });
});

describe("the read model of manifests", () => {
  const [registryId, packageId, versionId] = [randomUUID(), randomUUID(), randomUUID()];
  const by = randomUUID();
  const of = { packageId, registryId, packageVersionId: versionId, packageType: "container" };
  const inVersion = (type: string, data: object): readonly [string, AnyEvent] => [
    packageVersionStream(versionId),
    { type, data: { packageId, ...data } },
  ];
  const settings = { hasAnonymousAccess: false, isDeletePackageAllowed: true };
  const repository = registryRepositoryStream(registryId);
  const registryCreated = {
    type: "RegistryRepositoryCreated",
    data: {
      ...{ repositoryId: registryId, name: "images", packageType: "container", description: null },
      ...{ ownerType: "INSTANCE", ownerId: "instance", createdById: by, createdAt: at },
      settings: { type: "LOCAL", packageReuploadType: "NONE", ...settings },
    },
  };
  const created = inVersion("PackageVersionCreated", {
    ...of,
    ...{ name: "app", groupId: "", artifactId: "app", version: "sha256:aa" },
    ...{ createdById: by, createdAt: at },
  });
  const metadata = JSON.stringify({
    ...{ mediaType: "a/b", artifactType: null, subject: null, annotations: null },
    blobs: [{ digest: "sha256:bb", sha256: "bb", bytes: 7 }],
  });
  const stored = inVersion("PackageFileStored", {
    ...{ fileId: randomUUID(), name: "manifest.json", bytes: 9, metadata },
    ...{
      md5: "0".repeat(32),
      sha1: "0".repeat(40),
      sha256: "0".repeat(64),
      sha512: "0".repeat(128),
    },
    ...{ uploadType: "TRANSPORT", languageVersion: null, storedById: by, storedAt: at },
  });
  const tagged: readonly [string, AnyEvent] = [
    containerTagStream(randomUUID()),
    {
      type: "ContainerTagSet",
      data: { packageId, tag: "v1", digest: "sha256:aa", setById: by, setAt: at },
    },
  ];
  const purged = inVersion("PackageVersionPurged", { purgedAt: at });
  const begun = [[repository, registryCreated] as const, created, stored, tagged];

  /** The numbers of rows after events, which are the same one by one and all at once. */
  async function rowsAfter(...written: readonly (readonly [string, AnyEvent])[]) {
    const events = history(...written);
    await reset(db, containerManifestProjection);
    await applyEach(
      db,
      containerManifestProjection,
      events.map((event) => [event]),
    );
    const rows = await rowsOf(db, containerManifestProjection);
    await reset(db, containerManifestProjection);
    await applyEach(db, containerManifestProjection, [events]);
    expect(await rowsOf(db, containerManifestProjection)).to.deep.equal(rows);
    return Object.fromEntries(Object.entries(rows).map(([table, { length }]) => [table, length]));
  }

  const nothing = { container_manifest: 0, container_manifest_blob: 0, container_tag: 0 };

  it("has the blobs of a manifest in the registry that the manifest is in", async () => {
    await rowsAfter(...begun);
    const blob = await db("container_manifest_blob").where({ digest: "sha256:bb" }).first();
    expect(blob).to.deep.include({ version_id: versionId, registry_id: registryId, bytes: 7n });
  });

  it("loses a manifest that is purged with its blobs and tags", async () => {
    const rows = await rowsAfter(...begun, purged);
    expect(rows).to.deep.equal({ ...nothing, container_registry: 1 });
  });

  it("loses a registry that is deleted with all images, and takes no blobs for it later", async () => {
    const deleted = { type: "RegistryRepositoryDeleted", data: { deletedById: by, deletedAt: at } };
    const rows = await rowsAfter(...begun, [repository, deleted], stored);
    expect(rows).to.deep.equal({ ...nothing, container_registry: 0 });
  });
});
