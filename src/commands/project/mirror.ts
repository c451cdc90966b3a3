import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { type MirrorTarget, mirrorEvents, mirrorStream } from "../../events/project/mirror.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Stamp = Readonly<{ by: UserId; at: string }>;

export type MirrorCommand =
  | (Stamp &
      Readonly<{
        type: "ConfigureMirror";
        projectId: ProjectId;
        mirrorId: string;
        target: MirrorTarget;
      }>)
  | (Stamp & Readonly<{ type: "RemoveMirror" }>)
  | (Stamp & Readonly<{ type: "RequestMirrorSync" }>)
  /** Outcome of an attempt under that configuration; one under an earlier configuration is ignored. */
  | Readonly<{
      type: "RecordMirrorFailure";
      mirrorId: string;
      code: string;
      reason: string;
      at: string;
    }>
  | Readonly<{ type: "RecordMirrorSuccess"; mirrorId: string; at: string }>;

export type Mirror = Readonly<{
  status: "on";
  projectId: ProjectId;
  mirrorId: string;
  target: MirrorTarget;
  /** Code of the last recorded failure, while it lasts. */
  failing: string | null;
}>;
export type MirrorState = Readonly<{ status: "off" }> | Mirror;

export const mirror: Slice<MirrorState, MirrorCommand, typeof mirrorEvents> = {
  events: mirrorEvents,
  stream: mirrorStream,
  initialState: { status: "off" },

  decide(state, command) {
    switch (command.type) {
      case "ConfigureMirror": {
        const { projectId, mirrorId, target, by: configuredById, at: configuredAt } = command;
        const previous = state.status === "on" ? state.target : null;
        const data = { mirrorId, projectId, target, previous, configuredById, configuredAt };
        return [{ type: "MirrorConfigured", data }];
      }
      case "RemoveMirror": {
        const { mirrorId, projectId, target } = mustBeOn(state);
        const { by: removedById, at: removedAt } = command;
        const data = { mirrorId, projectId, target, removedById, removedAt };
        return [{ type: "MirrorRemoved", data }];
      }
      case "RequestMirrorSync": {
        const { mirrorId, projectId } = mustBeOn(state);
        const { by: requestedById, at: requestedAt } = command;
        const data = { mirrorId, projectId, requestedById, requestedAt };
        return [{ type: "MirrorSyncRequested", data }];
      }
      case "RecordMirrorFailure": {
        const { mirrorId, code, reason, at: failedAt } = command;
        if (state.status === "off" || state.mirrorId !== mirrorId) return [];
        if (state.failing === code) return [];
        const data = { mirrorId, projectId: state.projectId, code, reason, failedAt };
        return [{ type: "MirrorFailed", data }];
      }
      case "RecordMirrorSuccess": {
        const { mirrorId, at: recoveredAt } = command;
        if (state.status === "off" || state.mirrorId !== mirrorId) return [];
        if (state.failing === null) return [];
        const data = { mirrorId, projectId: state.projectId, recoveredAt };
        return [{ type: "MirrorRecovered", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "MirrorConfigured": {
        const { projectId, mirrorId, target } = event.data;
        return { status: "on", projectId, mirrorId, target, failing: null };
      }
      case "MirrorRemoved":
        return { status: "off" };
      case "MirrorSyncRequested":
        return state;
      case "MirrorFailed":
        return state.status === "on" ? { ...state, failing: event.data.code } : state;
      case "MirrorRecovered":
        return state.status === "on" ? { ...state, failing: null } : state;
      default:
        return unreachable(event);
    }
  },
};

function mustBeOn(state: MirrorState): Mirror {
  if (state.status === "on") return state;
  throw new Refusal("not_found", "mirror.not_found", "The project is not a mirror.");
}
