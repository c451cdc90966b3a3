import type { Actor } from "../core/event.ts";

/** An agent that acts for the service. Its token has no id: `tokenId` is the id of the agent. */
export const agentActor = (agentId: string): Actor => ({
  userId: null,
  alias: null,
  via: "agent",
  tokenId: agentId,
});
