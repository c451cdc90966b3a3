import type { PackageId, UserId } from "../../events/core/ids.ts";
import { packageStream, packageTagEvents } from "../../events/package/tag.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** Every document of a package shows all of them. */
export const packageTagsMax = 1_000;

export type PackageTagCommand = Readonly<{ packageId: PackageId; by: UserId; at: string }> &
  (
    | Readonly<{ type: "SetPackageTags"; tags: readonly string[]; version: string }>
    | Readonly<{ type: "RemovePackageTag"; tag: string }>
  );

/** Version by tag. */
export type PackageTagState = ReadonlyMap<string, string>;

export const packageTags: Slice<PackageTagState, PackageTagCommand, typeof packageTagEvents> = {
  events: packageTagEvents,
  stream: packageStream,
  initialState: new Map(),

  decide(state, command) {
    const { packageId, by, at } = command;
    switch (command.type) {
      case "SetPackageTags": {
        const { version } = command;
        const changed = command.tags.filter((tag) => state.get(tag) !== version);
        const added = changed.filter((tag) => !state.has(tag)).length;
        if (added > 0 && state.size + added > packageTagsMax) throw tooMany();
        return changed.map((tag) => {
          const data = { packageId, tag, version, setById: by, setAt: at };
          return { type: "PackageTagSet", data };
        });
      }
      case "RemovePackageTag": {
        const { tag } = command;
        if (!state.has(tag)) return [];
        const data = { packageId, tag, removedById: by, removedAt: at };
        return [{ type: "PackageTagRemoved", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    const tags = new Map(state);
    switch (event.type) {
      case "PackageTagSet":
        return tags.set(event.data.tag, event.data.version);
      case "PackageTagRemoved":
        tags.delete(event.data.tag);
        return tags;
      default:
        return unreachable(event);
    }
  },
};

function tooMany(): Refusal {
  const message = `A package has at most ${packageTagsMax} tags.`;
  return new Refusal("unprocessable", "package.too_many_tags", message);
}
