import {
  type PipelineLifetimeEvent,
  pipelineLifetimeEvents,
  pipelineLifetimeStream,
} from "../../events/pipeline/lifetime.ts";
import type { Slice } from "../core/decider.ts";

type Set = PipelineLifetimeEvent["data"];
export type PipelineLifetimeCommand = Readonly<{ type: "SetPipelineLifetime" }> & Set;
export type PipelineLifetimeState = Pick<Set, "lifetimeDays" | "enabled"> | null;

export const pipelineLifetime: Slice<
  PipelineLifetimeState,
  PipelineLifetimeCommand,
  typeof pipelineLifetimeEvents
> = {
  events: pipelineLifetimeEvents,
  stream: pipelineLifetimeStream,
  initialState: null,

  decide(state, { type: _, ...data }) {
    const isSame = state?.lifetimeDays === data.lifetimeDays && state.enabled === data.enabled;
    return isSame ? [] : [{ type: "PipelineLifetimeSet", data }];
  },

  evolve: (_state, { data: { lifetimeDays, enabled } }) => ({ lifetimeDays, enabled }),
};
