import { type JobLogEvent, jobLogEvents, jobLogStream } from "../../events/agent/job-log.ts";
import type { Slice } from "../core/decider.ts";

export type JobLogCommand = Readonly<{ type: "StoreJobLog" }> &
  Omit<JobLogEvent["data"], "storedAt"> &
  Readonly<{ at: string }>;

/** Attempts whose log is stored. */
export type JobLogState = ReadonlySet<number>;

export const jobLog: Slice<JobLogState, JobLogCommand, typeof jobLogEvents> = {
  events: jobLogEvents,
  stream: jobLogStream,
  initialState: new Set(),

  decide(state, { type: _, at: storedAt, ...log }) {
    // No more came of a run that has ended: its log is stored once.
    return state.has(log.attempt) ? [] : [{ type: "JobLogStored", data: { ...log, storedAt } }];
  },

  evolve: (state, { data }) => new Set([...state, data.attempt]),
};
