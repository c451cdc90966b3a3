import { expect } from "chai";
import { agent } from "../../../src/commands/agent/agent.ts";
import { registration } from "../../../src/commands/agent/registration.ts";
import { type agentEvents, agentNumber } from "../../../src/events/agent/agent.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { agentId, settings } from "../../support/agent/agent.ts";
import { userId } from "../../support/agent/pipeline.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type AgentEvent = EventOf<typeof agentEvents>;

const given = specify(agent);
const owner = { type: "GLOBAL", id: null } as const;
const registered: AgentEvent = {
  type: "AgentRegistered",
  data: { agentId, owner, settings, tokenHash: "one", registeredAt: at },
};
const reset = (tokenHash: string): AgentEvent => ({
  type: "AgentTokenReset",
  data: { tokenHash, resetAt: at },
});
const removed: AgentEvent = {
  type: "AgentRemoved",
  data: { removedById: userId, removedAt: at },
};

describe("an agent", () => {
  const register = { type: "RegisterAgent", agentId, owner, tokenHash: "one", at } as const;

  it("is registered with its tags sorted and once each", () => {
    const many = { ...settings, tags: ["linux", "arm", "linux"] };
    given()
      .when({ ...register, settings: many })
      .gives({
        ...registered,
        data: { ...registered.data, settings: { ...settings, tags: ["arm", "linux"] } },
      } as AgentEvent);
  });

  it("is registered once", () => {
    for (const past of [[registered], [registered, removed]]) {
      const again = given(...past).when({ ...register, settings });
      expect(() => again.givesNothing()).to.throw("registered once");
    }
  });

  it("must be able to take some job", () => {
    const nothing = { tags: [], runUntagged: false };
    given()
      .when({ ...register, settings: { ...settings, ...nothing } })
      .refuses("agent.takes_nothing");
    given(registered)
      .when({ type: "ReconfigureAgent", change: nothing, by: userId, at })
      .refuses("agent.takes_nothing");
  });

  it("keeps what a change leaves out, and what changed before", () => {
    const changed = (change: Partial<typeof settings>): AgentEvent => ({
      type: "AgentReconfigured",
      data: {
        settings: { ...settings, ...change },
        reconfiguredById: userId,
        reconfiguredAt: at,
      },
    });
    const change = { type: "ReconfigureAgent", by: userId, at } as const;
    given(registered)
      .when({ ...change, change: { active: false } })
      .gives(changed({ active: false }));
    given(registered, changed({ active: false }))
      .when({ ...change, change: { locked: !settings.locked } })
      .gives(changed({ active: false, locked: !settings.locked }));
  });

  it("confirms only its newest token, and once", () => {
    const confirm = (tokenHash: string) => ({ type: "ConfirmAgentToken", tokenHash, at }) as const;
    const confirmed: AgentEvent = {
      type: "AgentTokenConfirmed",
      data: { tokenHash: "two", confirmedAt: at },
    };
    given(registered).when(confirm("one")).givesNothing();
    given(registered, reset("two")).when(confirm("one")).givesNothing();
    given(registered, reset("two")).when(confirm("two")).gives(confirmed);
    given(registered, reset("two"), confirmed).when(confirm("two")).givesNothing();
  });

  it("is removed once and then neither changed nor reset", () => {
    given(registered).when({ type: "RemoveAgent", by: userId, at }).gives(removed);
    given(registered, removed).when({ type: "RemoveAgent", by: null, at }).givesNothing();
    given(registered, removed)
      .when({ type: "ResetAgentToken", tokenHash: "x", at })
      .refuses("agent.not_found");
    given(registered, removed)
      .when({ type: "ReconfigureAgent", change: {}, by: userId, at })
      .refuses("agent.not_found");
    given().when({ type: "RemoveAgent", by: userId, at }).refuses("agent.not_found");
  });

  it("has a number that an integer of JSON holds exactly", () => {
    expect(agentNumber("ffffffff-ffff-4fff-8fff-ffffffffffff")).to.equal(0xffffffffffff4);
    expect(Number.isSafeInteger(agentNumber(agentId))).to.equal(true);
  });
});

describe("a registration token", () => {
  const issue = (generation: number) =>
    ({
      type: "IssueRegistrationToken",
      owner,
      generation,
      tokenHash: "h",
      by: userId,
      at,
    }) as const;
  const issued = (generation: number) =>
    ({
      type: "RegistrationTokenIssued",
      data: { owner, generation, tokenHash: "h", issuedById: userId, issuedAt: at },
    }) as const;
  const givenIssued = specify(registration);

  it("is followed by the next generation only", () => {
    givenIssued().when(issue(1)).gives(issued(1));
    givenIssued(issued(1)).when(issue(1)).givesNothing();
    givenIssued(issued(1)).when(issue(2)).gives(issued(2));
    givenIssued(issued(1)).when(issue(3)).givesNothing();
  });
});
