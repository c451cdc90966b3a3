import type { LfsOid, ProjectId, UserId } from "../../events/core/ids.ts";
import { lfsObjectEvents, lfsObjectStream } from "../../events/git/lfs-object.ts";
import { unreachable } from "../../platform/invariant.ts";
import type { Slice } from "../core/decider.ts";

export type LfsObjectCommand =
  /** Its bytes are stored and were found to be what its id says. */
  | Readonly<{
      type: "StoreLfsObject";
      projectId: ProjectId;
      oid: LfsOid;
      bytes: number;
      by: UserId;
      at: string;
    }>
  | Readonly<{
      type: "InheritLfsObjects";
      projectId: ProjectId;
      fromProjectId: ProjectId;
      /** At most `lfsInheritedMax`. */
      objects: readonly Readonly<{ oid: LfsOid; bytes: number }>[];
      at: string;
    }>;

type State = Readonly<{ done: boolean }>;

/** Both happen once: a project that has an object has it for good. */
export const lfsObject: Slice<State, LfsObjectCommand, typeof lfsObjectEvents> = {
  events: lfsObjectEvents,
  stream: lfsObjectStream,
  initialState: { done: false },

  decide({ done }, command) {
    if (done) return [];
    switch (command.type) {
      case "StoreLfsObject": {
        const { projectId, oid, bytes, by: storedById, at: storedAt } = command;
        const data = { projectId, oid, bytes, storedById, storedAt };
        return [{ type: "LfsObjectStored", data }];
      }
      case "InheritLfsObjects": {
        const { projectId, fromProjectId, objects, at: inheritedAt } = command;
        const data = { projectId, fromProjectId, objects: [...objects], inheritedAt };
        return [{ type: "LfsObjectsInherited", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve: () => ({ done: true }),
};
