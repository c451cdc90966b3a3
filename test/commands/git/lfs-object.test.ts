import { lfsObject } from "../../../src/commands/git/lfs-object.ts";
import { LfsOid, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(lfsObject);
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const fromProjectId = ProjectId.parse("1a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const facts = { projectId, oid: LfsOid.parse("a".repeat(64)), bytes: 5 } as const;

describe("an LFS object", () => {
  it("is stored in a project once, also when another user uploads it again", () => {
    const store = { type: "StoreLfsObject", ...facts, by, at } as const;
    const stored = {
      type: "LfsObjectStored",
      data: { ...facts, storedById: by, storedAt: at },
    } as const;
    given().when(store).gives(stored);
    given(stored).when(store).givesNothing();
  });

  it("is inherited by a fork once", () => {
    const objects = [{ oid: facts.oid, bytes: 5 }];
    const between = { projectId, fromProjectId, objects };
    const inherit = { type: "InheritLfsObjects", ...between, at } as const;
    const inherited = {
      type: "LfsObjectsInherited",
      data: { ...between, inheritedAt: at },
    } as const;
    given().when(inherit).gives(inherited);
    given(inherited).when(inherit).givesNothing();
  });
});
