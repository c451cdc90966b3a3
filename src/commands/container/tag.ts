import { containerTagEvents, containerTagStream } from "../../events/container/tag.ts";
import type { PackageId, UserId } from "../../events/core/ids.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type ContainerTagCommand = Readonly<{
  packageId: PackageId;
  tag: string;
  by: UserId;
  at: string;
}> &
  (
    | Readonly<{
        type: "SetContainerTag";
        digest: string;
        /** Whether a tag may be moved to another manifest. */
        overwrite: boolean;
        /** The manifest it named is deleted, so that it names none. */
        freed: string | null;
      }>
    | Readonly<{ type: "RemoveContainerTag" }>
  );

export type ContainerTagState = Readonly<{ digest: string | null }>;

export const containerTag: Slice<
  ContainerTagState,
  ContainerTagCommand,
  typeof containerTagEvents
> = {
  events: containerTagEvents,
  stream: containerTagStream,
  initialState: { digest: null },

  decide(state, command) {
    const { packageId, tag, by, at } = command;
    switch (command.type) {
      case "SetContainerTag": {
        const { digest, overwrite, freed } = command;
        const isFree = state.digest === null || state.digest === freed;
        if (state.digest === digest && !isFree) return [];
        if (!isFree && !overwrite) throw taken(tag);
        return [
          { type: "ContainerTagSet", data: { packageId, tag, digest, setById: by, setAt: at } },
        ];
      }
      case "RemoveContainerTag":
        if (state.digest === null) return [];
        return [
          { type: "ContainerTagRemoved", data: { packageId, tag, removedById: by, removedAt: at } },
        ];
      default:
        return unreachable(command);
    }
  },

  evolve(_state, event) {
    switch (event.type) {
      case "ContainerTagSet":
        return { digest: event.data.digest };
      case "ContainerTagRemoved":
        return { digest: null };
      default:
        return unreachable(event);
    }
  },
};

function taken(tag: string): Refusal {
  const message = `The tag ${tag} names another manifest, and tags are not moved here.`;
  return new Refusal("conflict", "container.tag_exists", message);
}
