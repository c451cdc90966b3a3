import { job } from "../../../src/commands/pipeline/job.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import {
  assigned,
  canceled,
  failed,
  held,
  ids,
  queued,
  reset,
  returned,
  started,
  succeeded,
  taken,
  token,
} from "../../support/agent/job-events.ts";
import { agentId } from "../../support/agent/pipeline.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(job);
const within = { ...ids, at } as const;
const otherAgent = deterministicId("other agent");

const claim = { type: "ClaimJob", ...within, agentId, attempt: 1, tokenHash: token } as const;
const running = [queued(), taken()] as const;
/** As runs began until 2026-11-26. */
const confirmed = [queued(), assigned(), started()] as const;

describe("claiming a job", () => {
  it("gives it to one agent, and starts it", () => {
    given(queued()).when(claim).gives(taken());
    for (const past of [running, confirmed]) {
      given(...past)
        .when(claim)
        .givesNothing();
    }
    const other = { ...claim, agentId: otherAgent, tokenHash: "b".repeat(64) };
    for (const past of [[queued(), assigned()], running, [], [held], [queued(), canceled]]) {
      given(...past)
        .when(other)
        .refuses("job.taken");
    }
  });

  it("gives no later attempt than the one that was seen in the queue", () => {
    const again = [queued(), canceled, reset(), queued(2)];
    given(...again)
      .when(claim)
      .refuses("job.taken");
    given(...again)
      .when({ ...claim, attempt: 2 })
      .gives(taken(2));
  });

  it("gives it to another one when it was returned, and never twice by the same token", () => {
    const run = { ...ids, attempt: 1, agentId: otherAgent };
    given(...running, returned)
      .when({ ...claim, agentId: otherAgent })
      .gives({ type: "JobStarted", data: { ...run, tokenHash: token, startedAt: at } });
  });

  it("ends when the agent does not confirm", () => {
    const giveBack = { type: "ReturnJob", ...within, agentId, attempt: 1 } as const;
    for (const past of [running, confirmed, confirmed.slice(0, 2)]) {
      given(...past)
        .when(giveBack)
        .gives(returned);
    }
    for (const past of [[returned], [succeeded], [failed()], [canceled]]) {
      given(...running, ...past)
        .when(giveBack)
        .givesNothing();
    }
    for (const other of [{ agentId: otherAgent }, { tokenHash: "b".repeat(64) }, { attempt: 2 }]) {
      given(...running)
        .when({ ...giveBack, ...other })
        .givesNothing();
    }
  });
});
