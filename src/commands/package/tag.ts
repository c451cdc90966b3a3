import type { PackageId, UserId } from "../../events/core/ids.ts";
import { packageStream, packageTagEvents } from "../../events/package/tag.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** Every document of a package shows all of them. */
export const packageTagsMax = 1_000;

export type PackageTagCommand = Readonly<{
  packageId: PackageId;
  tag: string;
  by: UserId;
  at: string;
}> &
  (Readonly<{ type: "SetPackageTag"; version: string }> | Readonly<{ type: "RemovePackageTag" }>);

/** Version by tag. */
export type PackageTagState = ReadonlyMap<string, string>;

export const packageTags: Slice<PackageTagState, PackageTagCommand, typeof packageTagEvents> = {
  events: packageTagEvents,
  stream: packageStream,
  initialState: new Map(),

  decide(state, command) {
    const { packageId, tag, by, at } = command;
    switch (command.type) {
      case "SetPackageTag": {
        const { version } = command;
        if (state.get(tag) === version) return [];
        if (!state.has(tag) && state.size >= packageTagsMax) throw tooMany();
        const data = { packageId, tag, version, setById: by, setAt: at };
        return [{ type: "PackageTagSet", data }];
      }
      case "RemovePackageTag":
        if (!state.has(tag)) return [];
        return [
          { type: "PackageTagRemoved", data: { packageId, tag, removedById: by, removedAt: at } },
        ];
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
