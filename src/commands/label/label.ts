import type { ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type LabelDetails,
  type LabelId,
  labelEvents,
  labelStream,
} from "../../events/label/label.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { sameFields } from "../core/same-fields.ts";

/** The project that the request names; a label of another project does not exist for it. */
type Within = Readonly<{ projectId: ProjectId; by: UserId; at: string }>;

export type LabelCommand =
  | (Readonly<{ type: "CreateLabel"; labelId: LabelId; details: LabelDetails }> & Within)
  | (Readonly<{ type: "EditLabel"; details: LabelDetails }> & Within)
  | (Readonly<{ type: "DeleteLabel" }> & Within);

export type LabelState =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "created" | "deleted"; projectId: ProjectId; details: LabelDetails }>;

export const label: Slice<LabelState, LabelCommand, typeof labelEvents> = {
  events: labelEvents,
  stream: labelStream,
  initialState: { status: "absent" },

  decide(state, command) {
    const { by, at } = command;
    switch (command.type) {
      case "CreateLabel": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "label.exists", "This label already exists.");
        }
        const { labelId, projectId, details } = command;
        const data = { labelId, projectId, ...details, createdById: by, createdAt: at };
        return [{ type: "LabelCreated", data }];
      }
      case "EditLabel": {
        const { details: previousDetails } = mustExist(state, command);
        const { details } = command;
        if (sameFields(previousDetails, details)) return [];
        const data = { details, previousDetails, editedById: by, editedAt: at };
        return [{ type: "LabelEdited", data }];
      }
      case "DeleteLabel": {
        // A repeated deletion changes nothing.
        if (state.status === "deleted" && state.projectId === command.projectId) return [];
        const { title } = mustExist(state, command).details;
        return [{ type: "LabelDeleted", data: { title, deletedById: by, deletedAt: at } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "LabelCreated": {
        const { labelId, projectId, createdById, createdAt, ...details } = event.data;
        return { status: "created", projectId, details };
      }
      case "LabelEdited":
        return state.status === "absent" ? state : { ...state, details: event.data.details };
      case "LabelDeleted":
        return state.status === "absent" ? state : { ...state, status: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

export function labelNotFound(): Refusal {
  return new Refusal("not_found", "label.not_found", "The project has no such label.");
}

function mustExist(state: LabelState, { projectId }: Within) {
  if (state.status === "created" && state.projectId === projectId) return state;
  throw labelNotFound();
}
