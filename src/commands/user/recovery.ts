import { recoveryEvents, recoveryStream } from "../../events/user/recovery.ts";
import type { Slice } from "../core/decider.ts";

export type RecoveryCommand = Readonly<{
  type: "RequestPasswordReset" | "RequestEmailConfirmation";
  emailDigest: string;
  at: string;
}>;

/** When either was requested, the newest last; no more of them than the limit. */
type State = Readonly<{ requestedAt: readonly string[] }>;

/** Requested mails to one address within an hour: enough for a user who does not find the first one. */
const requestsMax = 3;
const windowMs = 60 * 60_000;

export const recovery: Slice<State, RecoveryCommand, typeof recoveryEvents> = {
  events: recoveryEvents,
  stream: recoveryStream,
  initialState: { requestedAt: [] },

  /** Over the limit a request is ignored without an error: the mail already sent is still valid. */
  decide({ requestedAt }, { type, emailDigest, at }) {
    const after = Date.parse(at) - windowMs;
    if (requestedAt.filter((each) => Date.parse(each) > after).length >= requestsMax) return [];
    const data = { emailDigest, askedAt: at };
    return type === "RequestPasswordReset"
      ? [{ type: "PasswordResetAsked", data }]
      : [{ type: "EmailConfirmationAsked", data }];
  },

  evolve: ({ requestedAt }, { data }) => ({
    requestedAt: [...requestedAt, data.askedAt].slice(-requestsMax),
  }),
};
