import {
  type CommitStatusEvent,
  commitStatusEvents,
  commitStatusStream,
} from "../../events/pipeline/commit-status.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** Names that systems outside may use for one commit. */
export const statusNamesMax = 200;

type Reported = CommitStatusEvent["data"];
export type CommitStatusCommand = Readonly<{ type: "ReportCommitStatus" }> & Reported;

/** The last report of each name. */
export type CommitStatusState = ReadonlyMap<string, Reported>;

export const commitStatus: Slice<
  CommitStatusState,
  CommitStatusCommand,
  typeof commitStatusEvents
> = {
  events: commitStatusEvents,
  stream: commitStatusStream,
  initialState: new Map(),

  decide(state, { type: _, ...data }) {
    const before = state.get(data.name);
    if (before === undefined && state.size >= statusNamesMax) {
      const message = `A commit has at most ${statusNamesMax} statuses of different names.`;
      throw new Refusal("unprocessable", "commit_status.too_many", message);
    }
    const isSame =
      before?.status === data.status &&
      before.ref === data.ref &&
      before.targetUrl === data.targetUrl &&
      before.description === data.description;
    return isSame ? [] : [{ type: "CommitStatusReported", data }];
  },

  evolve: (state, { data }) => new Map(state).set(data.name, data),
};
