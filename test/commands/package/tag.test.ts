import { packageTags, packageTagsMax } from "../../../src/commands/package/tag.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { PackageId, UserId } from "../../../src/events/core/ids.ts";
import type { packageTagEvents } from "../../../src/events/package/tag.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type PackageTagEvent = EventOf<typeof packageTagEvents>;

const given = specify(packageTags);
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const packageId = PackageId.parse("5b1f4c1e-6a51-4c58-8f0e-0d4f6a1c2b3d");
const set = (tag: string, version = "1.0.0"): PackageTagEvent => ({
  type: "PackageTagSet",
  data: { packageId, tag, version, setById: by, setAt: at },
});
const settingAll = (tags: readonly string[], version = "1.0.0") =>
  ({ type: "SetPackageTags", packageId, tags, version, by, at }) as const;
const setting = (tag: string, version?: string) => settingAll([tag], version);
const removing = { type: "RemovePackageTag", packageId, tag: "next", by, at } as const;
const removed: PackageTagEvent = {
  type: "PackageTagRemoved",
  data: { packageId, tag: "next", removedById: by, removedAt: at },
};

describe("tags of a package", () => {
  it("name one version each, which may change", () => {
    given().when(setting("next")).gives(set("next"));
    given(set("next")).when(setting("next")).givesNothing();
    given(set("next")).when(setting("next", "2.0.0")).gives(set("next", "2.0.0"));
  });

  it("are set at once where they name one version", () => {
    given(set("next"))
      .when(settingAll(["latest", "next", "stable"]))
      .gives(set("latest"), set("stable"));
  });

  it("are removed once", () => {
    given(set("next")).when(removing).gives(removed);
    given(set("next"), removed).when(removing).givesNothing();
    given().when(removing).givesNothing();
  });

  it("are bounded in number", () => {
    const many = Array.from({ length: packageTagsMax }, (_, n) => set(`tag-${n}`));
    given(...many)
      .when(setting("more"))
      .refuses("package.too_many_tags");
    given(...many)
      .when(setting("tag-1", "2.0.0"))
      .gives(set("tag-1", "2.0.0"));
    given(...many.slice(1))
      .when(setting("more"))
      .gives(set("more"));
    given(...many.slice(1))
      .when(settingAll(["more", "tag-1", "yet-more"]))
      .refuses("package.too_many_tags");
  });
});
