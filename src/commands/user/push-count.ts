import {
  type PushCountEvent,
  pushCountEvents,
  pushCountStream,
} from "../../events/user/push-count.ts";
import type { Slice } from "../core/decider.ts";

export type PushCountCommand = Readonly<{
  type: "CountPush";
  counted: Omit<PushCountEvent["data"], "countedAt">;
  at: string;
}>;

export type PushCountState = Readonly<{
  /** Up to where the repository's stream is accounted for; -1 before anything was. */
  repositoryRevision: number;
}>;

export const pushCount: Slice<PushCountState, PushCountCommand, typeof pushCountEvents> = {
  events: pushCountEvents,
  stream: pushCountStream,
  initialState: { repositoryRevision: -1 },

  /** What another worker has accounted for in the meantime is not counted again. */
  decide(state, { counted, at }) {
    if (counted.repositoryRevision <= state.repositoryRevision) return [];
    return [{ type: "PushCounted", data: { ...counted, countedAt: at } }];
  },

  evolve: (_state, { data: { repositoryRevision } }) => ({ repositoryRevision }),
};
