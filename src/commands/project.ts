import type { Alias, ProjectId, UserId } from "../events/ids.ts";
import {
  type OwnerType,
  type ProjectEvent,
  projectEvents,
  projectStream,
} from "../events/project.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Decider, Slice } from "./decider.ts";

export type ProjectCommand =
  | Readonly<{
      type: "CreateProject";
      projectId: ProjectId;
      ownerId: string;
      ownerType: OwnerType;
      alias: Alias;
      title: string;
      description: string | null;
      language: string | null;
      private: boolean;
      defaultBranch: string;
      by: UserId;
      at: string;
    }>
  | Readonly<{ type: "ChangeDefaultBranch"; branch: string; at: string }>;

type State =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "created"; defaultBranch: string }>;

const decider: Decider<State, ProjectCommand, ProjectEvent> = {
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "CreateProject": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "project.exists", "This project already exists.");
        }
        const { type: _, by: createdById, at: createdAt, ...rest } = command;
        return [{ type: "ProjectCreated", data: { ...rest, createdById, createdAt } }];
      }
      case "ChangeDefaultBranch": {
        if (state.status === "absent") {
          throw new Refusal("not_found", "project.not_found", "Project not found.");
        }
        const { branch, at: changedAt } = command;
        if (branch === state.defaultBranch) return [];
        return [
          {
            type: "ProjectDefaultBranchChanged",
            data: { branch, previousBranch: state.defaultBranch, changedAt },
          },
        ];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(_state, event) {
    switch (event.type) {
      case "ProjectCreated":
        return { status: "created", defaultBranch: event.data.defaultBranch };
      case "ProjectDefaultBranchChanged":
        return { status: "created", defaultBranch: event.data.branch };
      default:
        return unreachable(event);
    }
  },
};

export const project: Slice<State, ProjectCommand, typeof projectEvents> = {
  events: projectEvents,
  stream: projectStream,
  decider,
};
