import { packageFilesMax, packageVersion } from "../../../src/commands/package/version.ts";
import {
  PackageFileId,
  PackageId,
  PackageVersionId,
  UserId,
} from "../../../src/events/core/ids.ts";
import type { PackageVersionEvent } from "../../../src/events/package/version.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(packageVersion);
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const packageId = PackageId.parse("5b1f4c1e-6a51-4c58-8f0e-0d4f6a1c2b3d");
const coordinates = {
  packageId,
  packageVersionId: PackageVersionId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d"),
  registryId: "instance",
  packageType: "generic",
  name: "forge",
  groupId: "",
  artifactId: "forge",
  version: "1.0.0",
} as const;

const fileOf = (n: number, digit = "0") =>
  ({
    fileId: PackageFileId.parse(deterministicId("file", n)),
    name: `file-${n}`,
    bytes: n,
    md5: digit.repeat(32),
    sha1: digit.repeat(40),
    sha256: digit.repeat(64),
    sha512: digit.repeat(128),
    uploadType: "API",
    languageVersion: null,
  }) as const;

const created: PackageVersionEvent = {
  type: "PackageVersionCreated",
  data: { ...coordinates, createdById: by, createdAt: at },
};
const stored = (n: number): PackageVersionEvent => ({
  type: "PackageFileStored",
  data: { ...fileOf(n), packageId, storedById: by, storedAt: at },
});
const replaced = (n: number, digit: string, before: string): PackageVersionEvent => ({
  type: "PackageFileReplaced",
  data: {
    ...fileOf(n, digit),
    packageId,
    previousSha256: before.repeat(64),
    replacedById: by,
    replacedAt: at,
  },
});
const store = (n: number, digit?: string) =>
  ({ type: "StorePackageFile", coordinates, file: fileOf(n, digit), by, at }) as const;

describe("storing a file of a package", () => {
  it("makes the version with its first file, in one go", () => {
    given().when(store(1)).gives(created, stored(1));
  });

  it("adds further files beside it", () => {
    given(created, stored(1)).when(store(2)).gives(stored(2));
  });

  it("replaces the file of the same name, and says by what it was replaced", () => {
    given(created, stored(1))
      .when(store(1, "a"))
      .gives(replaced(1, "a", "0"));
    given(created, stored(1), replaced(1, "a", "0"))
      .when(store(1, "b"))
      .gives(replaced(1, "b", "a"));
    given(created, stored(1), replaced(1, "a", "0"))
      .when(store(1))
      .gives(replaced(1, "0", "a"));
  });

  it("changes nothing when the same content comes again", () => {
    given(created, stored(1)).when(store(1)).givesNothing();
    given(created, stored(1), replaced(1, "a", "0"))
      .when(store(1, "a"))
      .givesNothing();
  });

  it("is refused beyond a number nobody needs, but for files that are there", () => {
    const many = Array.from({ length: packageFilesMax }, (_, n) => stored(n));
    given(created, ...many)
      .when(store(packageFilesMax))
      .refuses("package.too_many_files");
    given(created, ...many)
      .when(store(3, "a"))
      .gives(replaced(3, "a", "0"));
    given(created, ...many.slice(1))
      .when(store(0))
      .gives(stored(0));
  });
});

describe("a version of a package", () => {
  const past = [created, stored(1)] as const;
  const of = { packageId, by, at } as const;
  const deleted: PackageVersionEvent = {
    type: "PackageVersionDeleted",
    data: { packageId, deletedById: by, deletedAt: at },
  };
  const yanked: PackageVersionEvent = {
    type: "PackageVersionYanked",
    data: { packageId, reason: "Bad", yankedById: by, yankedAt: at },
  };
  const only = (n: number, digit?: string) => ({ ...store(n, digit), existing: "keep" }) as const;

  it("takes no file again where overwriting is off, nor the same bytes", () => {
    for (const digit of ["0", "a"]) {
      given(...past)
        .when({ ...store(1, digit), existing: "refuse" })
        .refuses("package_file.exists");
    }
    given(...past)
      .when({ ...store(2), existing: "refuse" })
      .gives(stored(2));
    given(...past, deleted)
      .when({ ...store(1), existing: "refuse" })
      .refuses("package_version.deleted");
  });

  it("loses one of its files for good, and goes itself with the last one", () => {
    const { fileId, name } = fileOf(1);
    const remove = { type: "DeletePackageFile", ...of, fileId, name } as const;
    const gone: PackageVersionEvent = {
      type: "PackageFileDeleted",
      data: { packageId, fileId, name, deletedById: by, deletedAt: at },
    };
    given(...past, stored(2))
      .when(remove)
      .gives(gone);
    given(...past, stored(2), gone)
      .when(remove)
      .refuses("package_file.not_found");
    for (const existing of ["refuse", "keep"] as const) {
      given(...past, stored(2), gone)
        .when({ ...store(1), existing })
        .refuses("package_file.exists");
    }
    given(...past, stored(2), gone)
      .when(store(1))
      .gives(stored(1));
    given(...past)
      .when(remove)
      .gives(deleted);
    given(...past, deleted)
      .when(remove)
      .refuses("package_version.not_found");
  });

  it("has one file only, however it is spelled, where a version of its type is one", () => {
    const sent = { ...store(2), existing: "keep", isOnly: true } as const;
    given(...past)
      .when(sent)
      .refuses("package_file.exists");
    given().when(sent).gives(created, stored(2));
  });

  it("keeps its files where their content is for ever", () => {
    given(...past)
      .when(only(1, "a"))
      .refuses("package_file.exists");
    given(...past)
      .when(only(1))
      .givesNothing();
    given(...past)
      .when(only(2))
      .gives(stored(2));
  });

  it("is yanked once and taken back once", () => {
    const yank = { type: "YankPackageVersion", reason: "Bad", ...of } as const;
    given(...past)
      .when(yank)
      .gives(yanked);
    given(...past, yanked)
      .when(yank)
      .givesNothing();
    given(...past, yanked)
      .when({ type: "UnyankPackageVersion", ...of })
      .gives({
        type: "PackageVersionUnyanked",
        data: { packageId, unyankedById: by, unyankedAt: at },
      });
    given(...past)
      .when({ type: "UnyankPackageVersion", ...of })
      .givesNothing();
  });

  it("is deprecated with a message, which an empty one takes back", () => {
    const deprecate = (message: string) =>
      ({ type: "DeprecatePackageVersion", message, ...of }) as const;
    const deprecated = (message: string): PackageVersionEvent => ({
      type: "PackageVersionDeprecated",
      data: { packageId, message, deprecatedById: by, deprecatedAt: at },
    });
    given(...past)
      .when(deprecate("Old"))
      .gives(deprecated("Old"));
    given(...past, deprecated("Old"))
      .when(deprecate("Old"))
      .givesNothing();
    given(...past, deprecated("Old"))
      .when(deprecate(""))
      .gives(deprecated(""));
  });

  it("is deleted, restored, or begun anew where files may be overwritten", () => {
    const remove = { type: "DeletePackageVersion", ...of } as const;
    const restore = { type: "RestorePackageVersion", ...of } as const;
    const restored: PackageVersionEvent = {
      type: "PackageVersionRestored",
      data: { packageId, restoredById: by, restoredAt: at },
    };
    given().when(remove).refuses("package_version.not_found");
    given(...past)
      .when(remove)
      .gives(deleted);
    given(...past, deleted)
      .when(remove)
      .givesNothing();
    given(...past, deleted)
      .when(restore)
      .gives(restored);
    given(...past)
      .when(restore)
      .givesNothing();
    given(...past, deleted)
      .when({ type: "UnyankPackageVersion", ...of })
      .refuses("package_version.not_found");
    given(...past, deleted)
      .when(only(1))
      .refuses("package_version.deleted");
    given(...past, deleted)
      .when(store(1))
      .gives(created, stored(1));
    given(...past, deleted, created, stored(2))
      .when(only(1))
      .gives(stored(1));
  });

  it("is purged once it was deleted for long enough, and can begin anew", () => {
    const purge = (deletedBefore: string) =>
      ({ type: "PurgePackageVersion", packageId, deletedBefore, at }) as const;
    const later = new Date(Date.parse(at) + 1).toISOString();
    const purged: PackageVersionEvent = {
      type: "PackageVersionPurged",
      data: { packageId, purgedAt: at },
    };
    const restored: PackageVersionEvent = {
      type: "PackageVersionRestored",
      data: { packageId, restoredById: by, restoredAt: at },
    };
    for (const never of [[], past, [...past, deleted, restored], [...past, deleted, purged]]) {
      given(...never)
        .when(purge(later))
        .givesNothing();
    }
    given(...past, deleted)
      .when(purge(at))
      .givesNothing();
    given(...past, deleted)
      .when(purge(later))
      .gives(purged);
    given(...past, deleted, purged)
      .when({ type: "RestorePackageVersion", ...of })
      .refuses("package_version.not_found");
    given(...past, deleted, purged)
      .when(only(1))
      .gives(created, stored(1));
  });
});
