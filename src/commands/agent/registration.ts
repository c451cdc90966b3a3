import type { AgentOwner } from "../../events/agent/agent.ts";
import { registrationEvents, registrationStream } from "../../events/agent/registration.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { Slice } from "../core/decider.ts";

export type RegistrationCommand = Readonly<{
  type: "IssueRegistrationToken";
  owner: AgentOwner;
  /** One more than that of the token in force; an older one changes nothing. */
  generation: number;
  tokenHash: string;
  by: UserId;
  at: string;
}>;

/** The generation in force; 0 before the first. */
type State = Readonly<{ generation: number }>;

export const registration: Slice<State, RegistrationCommand, typeof registrationEvents> = {
  events: registrationEvents,
  stream: registrationStream,
  initialState: { generation: 0 },
  decide(state, { owner, generation, tokenHash, by, at }) {
    // Two requests at one moment issue one token.
    if (generation !== state.generation + 1) return [];
    const data = { owner, generation, tokenHash, issuedById: by, issuedAt: at };
    return [{ type: "RegistrationTokenIssued", data }];
  },
  evolve: (_state, { data }) => ({ generation: data.generation }),
};
