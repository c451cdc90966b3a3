import { containerTag } from "../../../src/commands/container/tag.ts";
import type { containerTagEvents } from "../../../src/events/container/tag.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { PackageId, UserId } from "../../../src/events/core/ids.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type ContainerTagEvent = EventOf<typeof containerTagEvents>;

const given = specify(containerTag);
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const packageId = PackageId.parse("5b1f4c1e-6a51-4c58-8f0e-0d4f6a1c2b3d");
const of = { packageId, tag: "1.0" };
const set = (digest: string): ContainerTagEvent => ({
  type: "ContainerTagSet",
  data: { ...of, digest, setById: by, setAt: at },
});
const removed: ContainerTagEvent = {
  type: "ContainerTagRemoved",
  data: { ...of, removedById: by, removedAt: at },
};
const setting = (digest: string, overwrite = true, freed: string | null = null) =>
  ({ type: "SetContainerTag", ...of, digest, overwrite, freed, by, at }) as const;
const removing = { type: "RemoveContainerTag", ...of, by, at } as const;

describe("a tag of a container image", () => {
  it("names one manifest, and another one when that is allowed", () => {
    given().when(setting("sha256:a")).gives(set("sha256:a"));
    given(set("sha256:a")).when(setting("sha256:a")).givesNothing();
    given(set("sha256:a")).when(setting("sha256:b")).gives(set("sha256:b"));
    given(set("sha256:a")).when(setting("sha256:a", false)).givesNothing();
    given(set("sha256:a")).when(setting("sha256:b", false)).refuses("container.tag_exists");
  });

  it("is free again when its manifest is deleted", () => {
    given(set("sha256:a"))
      .when(setting("sha256:b", false, "sha256:a"))
      .gives(set("sha256:b"));
    given(set("sha256:a"))
      .when(setting("sha256:a", false, "sha256:a"))
      .gives(set("sha256:a"));
    given(set("sha256:a"))
      .when(setting("sha256:b", false, "sha256:c"))
      .refuses("container.tag_exists");
  });

  it("is removed once", () => {
    given(set("sha256:a")).when(removing).gives(removed);
    given(set("sha256:a"), removed).when(removing).givesNothing();
    given(set("sha256:a"), removed).when(setting("sha256:b", false)).gives(set("sha256:b"));
  });
});
