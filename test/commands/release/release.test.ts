import { release, releaseFilesMax } from "../../../src/commands/release/release.ts";
import {
  ObjectId,
  ProjectId,
  ReleaseFileId,
  ReleaseId,
  UserId,
} from "../../../src/events/core/ids.ts";
import type { ReleaseEvent } from "../../../src/events/release/release.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(release);
const releaseId = ReleaseId.parse("5b1f4c1e-6a51-4c58-8f0e-0d4f6a1c2b3d");
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const otherProject = ProjectId.parse("1a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const commitId = ObjectId.parse("9fceb02d0ae598e95dc970b74767f19372d61af8");
const details = { title: "One", description: null, tagName: "v1", preRelease: false } as const;
const within = { projectId, by, at } as const;

const created: ReleaseEvent = {
  type: "ReleaseCreated",
  data: { releaseId, projectId, commitId, ...details, createdById: by, createdAt: at },
};
const deleted: ReleaseEvent = {
  type: "ReleaseDeleted",
  data: { tagName: "v1", deletedById: by, deletedAt: at },
};
const idOf = (n: number) => ReleaseFileId.parse(deterministicId("file", n));
const fileOf = (n: number) => ({
  fileId: idOf(n),
  name: `file ${n}`,
  bytes: n,
  md5: "0".repeat(32),
  sha1: "0".repeat(40),
  sha256: "0".repeat(64),
  sha512: "0".repeat(128),
});
const added = (n: number): ReleaseEvent => ({
  type: "ReleaseFileAdded",
  data: { ...fileOf(n), addedById: by, addedAt: at },
});
const removed = (n: number): ReleaseEvent => ({
  type: "ReleaseFileRemoved",
  data: { fileId: idOf(n), name: `file ${n}`, removedById: by, removedAt: at },
});

describe("creating a release", () => {
  const create = { type: "CreateRelease", releaseId, commitId, ...details, ...within } as const;

  it("records it, once", () => {
    given().when(create).gives(created);
    given(created).when(create).refuses("release.exists");
    given(created, deleted).when(create).refuses("release.exists");
  });
});

describe("editing a release", () => {
  const changed = { ...details, title: "Two", preRelease: true };
  const edit = { type: "EditRelease", details: changed, commitId, ...within } as const;

  it("records what it was and what it became", () => {
    given(created)
      .when(edit)
      .gives({
        type: "ReleaseEdited",
        data: {
          details: changed,
          previousDetails: details,
          commitId,
          editedById: by,
          editedAt: at,
        },
      });
  });

  it("records nothing when it changes nothing", () => {
    given(created)
      .when({ ...edit, details })
      .givesNothing();
  });

  it("is refused where there is none, by whatever name", () => {
    given().when(edit).refuses("release.not_found");
    given(created, deleted).when(edit).refuses("release.not_found");
    given(created)
      .when({ ...edit, projectId: otherProject })
      .refuses("release.not_found");
  });
});

describe("the files of a release", () => {
  const add = { type: "AddReleaseFiles", files: [fileOf(1), fileOf(2)], ...within } as const;
  const remove = { type: "RemoveReleaseFiles", fileIds: [idOf(1), idOf(2)], ...within } as const;

  it("are added together", () => {
    given(created).when(add).gives(added(1), added(2));
  });

  it("have names of their own, which removed ones give back", () => {
    const again = { ...add, files: [{ ...fileOf(3), name: "file 2" }] };
    given(created, added(1), added(2)).when(again).refuses("release_file.exists");
    given(created)
      .when({ ...add, files: [fileOf(2), ...again.files] })
      .refuses("release_file.exists");
    given(created, added(1), added(2), removed(2))
      .when(again)
      .gives({ ...added(3), data: { ...added(3).data, name: "file 2" } } as ReleaseEvent);
  });

  it("are refused beyond a number nobody needs", () => {
    const many = Array.from({ length: releaseFilesMax - 1 }, (_, n) => added(n + 10));
    given(created, ...many)
      .when(add)
      .refuses("release_file.too_many");
    given(created, ...many, removed(10))
      .when(add)
      .gives(added(1), added(2));
  });

  it("are removed together, and each once", () => {
    given(created, added(1), added(2)).when(remove).gives(removed(1), removed(2));
    given(created, added(1), added(2), removed(1)).when(remove).gives(removed(2));
    given(created, added(1))
      .when({ ...remove, fileIds: [idOf(1), idOf(1)] })
      .gives(removed(1));
  });

  it("are all kept when one of those named was never there", () => {
    given(created, added(1)).when(remove).refuses("release_file.not_found");
  });

  it("belong to the project of their release", () => {
    for (const command of [add, remove]) {
      given(created, added(1), added(2))
        .when({ ...command, projectId: otherProject })
        .refuses("release.not_found");
      given(created, deleted).when(command).refuses("release.not_found");
    }
  });
});

describe("deleting a release", () => {
  const remove = { type: "DeleteRelease", ...within } as const;

  it("happens once, and in its project only", () => {
    given(created).when(remove).gives(deleted);
    given(created, deleted).when(remove).givesNothing();
    given().when(remove).refuses("release.not_found");
    for (const past of [[created], [created, deleted]]) {
      given(...past)
        .when({ ...remove, projectId: otherProject })
        .refuses("release.not_found");
    }
  });
});
