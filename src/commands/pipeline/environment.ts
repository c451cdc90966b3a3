import type { ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type EnvironmentState,
  environmentEvents,
  environmentStream,
} from "../../events/pipeline/environment.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** `state` is that of the environment as the read model shows it: jobs move it as well. */
export type EnvironmentCommand = Readonly<{
  environmentId: string;
  projectId: ProjectId;
  name: string;
  state: EnvironmentState;
  at: string;
}> &
  Readonly<
    | { type: "StopEnvironment"; by: UserId | null }
    /** `inUse`: a job that is for it waits for an agent or runs. */
    | { type: "DeleteEnvironment"; by: UserId; inUse: boolean }
  >;

export const environment: Slice<null, EnvironmentCommand, typeof environmentEvents> = {
  events: environmentEvents,
  stream: environmentStream,
  initialState: null,

  decide(_state, command) {
    const { environmentId, projectId, name, at } = command;
    const environment = { environmentId, projectId, name };
    switch (command.type) {
      case "StopEnvironment": {
        if (command.state === "STOPPED") return [];
        const data = { ...environment, stoppedById: command.by, stoppedAt: at };
        return [{ type: "EnvironmentStopped", data }];
      }
      case "DeleteEnvironment": {
        if (command.state !== "STOPPED") {
          const message = "An environment can be deleted once it is stopped: stop it first.";
          throw new Refusal("unprocessable", "environment.not_stopped", message);
        }
        if (command.inUse) {
          const message = "A job for the environment is queued or runs: wait for it or cancel it.";
          throw new Refusal("conflict", "environment.in_use", message);
        }
        const data = { ...environment, deletedById: command.by, deletedAt: at };
        return [{ type: "EnvironmentDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve: (state) => state,
};

export function environmentNotFound(): Refusal {
  return new Refusal("not_found", "environment.not_found", "Environment not found.");
}
