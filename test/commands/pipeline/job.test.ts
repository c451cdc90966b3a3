import { type JobCommand, job } from "../../../src/commands/pipeline/job.ts";
import { PipelineId } from "../../../src/events/pipeline/id.ts";
import type { JobEvent } from "../../../src/events/pipeline/job.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import {
  assigned,
  blocked,
  canceled,
  delayed,
  failed,
  held,
  ids,
  played,
  queued,
  reset,
  returned,
  skipped,
  started,
  succeeded,
  taken,
  token,
} from "../../support/agent/job-events.ts";
import { agentId, commitId, userId } from "../../support/agent/pipeline.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(job);
const within = { ...ids, at } as const;
const otherAgent = deterministicId("other agent");

const rules = {
  allowFailure: { always: false, exitCodes: [] as number[] },
  retry: { max: 0, when: [] as string[], exitCodes: [] as number[] },
};
const fail = (change: Partial<Extract<JobCommand, { type: "RecordJobFailed" }>> = {}) =>
  ({
    type: "RecordJobFailed",
    ...within,
    agentId,
    attempt: 1,
    reason: "script_failure",
    exitCode: 1,
    rules,
    ...change,
  }) as const;
const succeed = { type: "RecordJobSucceeded", ...within, agentId, attempt: 1 } as const;
const claim = { type: "ClaimJob", ...within, agentId, attempt: 1, tokenHash: token } as const;
const start = { type: "RecordJobStarted", ...within, agentId, attempt: 1 } as const;
const running = [queued(), taken()] as const;

describe("queuing a job", () => {
  const queue = { type: "QueueJob", ...within } as const;

  it("counts its runs, and happens once for each", () => {
    given().when(queue).gives(queued());
    given(queued()).when(queue).givesNothing();
    given(...running, failed(), reset())
      .when(queue)
      .gives(queued(2));
    given(...running, succeeded)
      .when(queue)
      .givesNothing();
  });

  it("follows a hold only when a user plays the job", () => {
    given(held).when(queue).givesNothing();
    given(held, played).when(queue).gives(queued());
    given(blocked("RESOURCE_GROUP")).when(queue).gives(queued());
  });
});

describe("a job whose turn comes", () => {
  it("is held, delayed or skipped once", () => {
    for (const [command, event] of [
      [{ type: "HoldJob", ...within }, held],
      [{ type: "DelayJob", until: at, ...within }, delayed],
      [{ type: "SkipJob", ...within }, skipped],
    ] as const) {
      given().when(command).gives(event);
      for (const past of [held, delayed, skipped, queued()])
        given(past).when(command).givesNothing();
    }
  });

  it("waits for its resource group before, and for an agent after it is queued", () => {
    const block = (reason: "NO_AGENT" | "RESOURCE_GROUP") =>
      ({ type: "BlockJob", reason, ...within }) as const;
    given().when(block("RESOURCE_GROUP")).gives(blocked("RESOURCE_GROUP"));
    given().when(block("NO_AGENT")).givesNothing();
    given(queued()).when(block("NO_AGENT")).gives(blocked("NO_AGENT"));
    given(queued(), blocked("NO_AGENT")).when(block("NO_AGENT")).givesNothing();
    given(queued(), blocked("NO_AGENT")).when(claim).gives(taken());
  });
});

describe("playing a job", () => {
  const play = { type: "PlayJob", ...within, by: userId, variables: null } as const;

  it("is for manual and delayed jobs", () => {
    given(held).when(play).gives(played);
    given(delayed).when(play).gives(played);
    for (const past of [[], [queued()], [...running, succeeded], [held, played], [skipped]]) {
      given(...past)
        .when(play)
        .refuses("job.not_playable");
    }
  });
});

describe("what an agent reports", () => {
  it("is taken from the agent that has the run", () => {
    given(queued(), assigned()).when(start).gives(started());
    given(...running)
      .when(start)
      .givesNothing();
    given(...running)
      .when(succeed)
      .gives(succeeded);
    given(...running)
      .when(fail())
      .gives(failed());
  });

  it("is refused to others, and for runs that are over", () => {
    for (const command of [start, succeed, fail()]) {
      given(...running)
        .when({ ...command, agentId: otherAgent })
        .refuses("job.not_yours");
      given(queued(), assigned(), returned).when(command).refuses("job.not_yours");
      given(...running, succeeded)
        .when(command)
        .refuses("job.finished");
      given(...running, canceled)
        .when(command)
        .refuses("job.finished");
      given(...running, failed(), reset(), queued(2))
        .when(command)
        .refuses("job.not_yours");
    }
    given(queued(), assigned()).when(succeed).refuses("job.not_yours");
  });

  it("is refused of a run that was returned, and then given to the same agent with another token", () => {
    const later = "b".repeat(64);
    const again = { ...assigned(), data: { ...assigned().data, tokenHash: later } } as JobEvent;
    const past = [queued(), assigned(), returned, again] as const;
    given(...past)
      .when({ ...start, tokenHash: token })
      .refuses("job.not_yours");
    given(...past)
      .when({ ...start, tokenHash: later })
      .gives(started());
    given(...past, started())
      .when({ ...start, tokenHash: token })
      .refuses("job.not_yours");
    for (const report of [succeed, fail()]) {
      given(...past, started())
        .when({ ...report, tokenHash: token })
        .refuses("job.not_yours");
    }
    const giveBack = { type: "ReturnJob", ...within, agentId, attempt: 1 } as const;
    given(...past)
      .when({ ...giveBack, tokenHash: token })
      .givesNothing();
  });

  it("is recorded by the service for a run that no agent took, and for no other", () => {
    const stuck = fail({ agentId: null, reason: "stuck_or_timeout_failure", exitCode: null });
    const ended = failed({ reason: stuck.reason, exitCode: null });
    given(queued()).when(stuck).gives(ended);
    given(queued(), assigned()).when(stuck).refuses("job.not_yours");
    given(queued(2)).when(stuck).refuses("job.not_yours");
    given(queued())
      .when({ ...succeed, agentId: null })
      .refuses("job.not_yours");
  });

  it("makes a warning of a failure that the file allows", () => {
    const codes = { ...rules, allowFailure: { always: false, exitCodes: [3] } };
    const always = { ...rules, allowFailure: { always: true, exitCodes: [] } };
    given(...running)
      .when(fail({ rules: always }))
      .gives(failed({ allowed: true }));
    given(...running)
      .when(fail({ rules: codes }))
      .gives(failed());
    given(...running)
      .when(fail({ rules: codes, exitCode: 3 }))
      .gives(failed({ allowed: true, exitCode: 3 }));
  });

  it("starts the job again as often as the file says, and for its reasons", () => {
    const retry = (change = {}) => ({
      ...rules,
      retry: { max: 1, when: ["always"], exitCodes: [], ...change },
    });
    given(...running)
      .when(fail({ rules: retry() }))
      .gives(failed(), reset());
    const again = [...running, failed(), reset(), queued(2), taken(2)];
    given(...again)
      .when(fail({ rules: retry(), attempt: 2 }))
      .gives(failed({ attempt: 2 }));
    given(...running, failed(), reset(userId), queued(2), taken(2))
      .when(fail({ rules: retry(), attempt: 2 }))
      .gives(failed({ attempt: 2 }), reset());

    const systemOnly = retry({ when: ["runner_system_failure"] });
    given(...running)
      .when(fail({ rules: systemOnly }))
      .gives(failed());
    for (const reason of ["runner_system_failure", "runner_interrupted"] as const) {
      given(...running)
        .when(fail({ rules: systemOnly, reason }))
        .gives(failed({ reason }), reset());
    }
    for (const past of [[held, played], [delayed]]) {
      given(...past, ...running)
        .when(fail({ rules: retry() }))
        .gives(failed(), reset(null, { released: true }));
    }
    const byCode = retry({ when: [], exitCodes: [7] });
    given(...running)
      .when(fail({ rules: byCode }))
      .gives(failed());
    given(...running)
      .when(fail({ rules: byCode, exitCode: 7 }))
      .gives(failed({ exitCode: 7 }), reset());
  });
});

describe("canceling a job", () => {
  const cancel = { type: "CancelJob", ...within, by: userId, quietly: false } as const;

  it("ends it whatever it does, once", () => {
    for (const past of [[], [held], [delayed], [queued()], running]) {
      given(...past)
        .when(cancel)
        .gives(canceled);
    }
    given(canceled).when(cancel).refuses("job.finished");
    given(canceled)
      .when({ ...cancel, quietly: true })
      .givesNothing();
    given(queued(), canceled).when(claim).refuses("job.taken");
  });
});

describe("restarting a job", () => {
  const restart = { type: "ResetJob", ...within, by: userId, quietly: false } as const;

  it("is for jobs that have ended", () => {
    for (const past of [[...running, failed()], [...running, succeeded], [canceled], [skipped]]) {
      given(...past)
        .when(restart)
        .gives(reset(userId));
    }
    for (const past of [[], [queued()], running, [held]]) {
      given(...past)
        .when(restart)
        .refuses("job.not_finished");
      given(...past)
        .when({ ...restart, quietly: true })
        .givesNothing();
    }
  });

  it("lets a manual job begin at once, unless its turn has not come", () => {
    const again = { ...restart, release: true };
    const queue = { type: "QueueJob", ...within } as const;
    const released = reset(userId, { released: true });
    for (const past of [
      [held, played, ...running, succeeded],
      [held, canceled],
    ]) {
      given(...past)
        .when(again)
        .gives(released);
    }
    given(held, canceled, released)
      .when({ type: "HoldJob", ...within })
      .givesNothing();
    given(held, canceled, released).when(queue).gives(queued());
    given(skipped).when(again).gives(reset(userId));
  });
});

describe("a job of the service itself", () => {
  const childPipelineId = PipelineId.parse(deterministicId("child"));
  const triggered: JobEvent = {
    type: "JobTriggered",
    data: { ...ids, childPipelineId, triggeredAt: at },
  };

  it("starts without an agent, and names the pipeline it started once", () => {
    const byService = { ...start, agentId: null };
    given(queued())
      .when(byService)
      .gives({
        type: "JobStarted",
        data: { ...ids, attempt: 1, agentId: null, startedAt: at },
      });
    const trigger = { type: "RecordJobTriggered", ...within, childPipelineId } as const;
    given(queued()).when(trigger).gives(triggered);
    given(queued(), triggered).when(trigger).givesNothing();
  });

  it("fails with a message, also when it is tried again", () => {
    const what = { message: "No pipeline.", exitCode: null } as const;
    const byService = fail({ ...what, agentId: null });
    const begun: JobEvent = {
      type: "JobStarted",
      data: { ...ids, attempt: 1, agentId: null, startedAt: at },
    };
    given(queued(), begun).when(byService).gives(failed(what));
    const retry = { max: 1, when: ["always"], exitCodes: [] };
    given(queued(), begun)
      .when({ ...byService, rules: { ...rules, retry } })
      .gives(failed(what), reset());
  });
});

describe("a job for an environment", () => {
  const environment = {
    environmentId: deterministicId("environment"),
    name: "production",
    action: "start",
    tier: null,
    url: null,
    onStop: null,
    autoStopInSeconds: null,
    ref: "main",
    isTag: false,
    commitId,
    userId,
  } as const;

  it("is queued with it", () => {
    given()
      .when({ type: "QueueJob", ...within, environment })
      .gives({ type: "JobQueued", data: { ...ids, attempt: 1, environment, queuedAt: at } });
  });

  it("is refused in its turn, and not tried again by itself", () => {
    const retry = { max: 2, when: ["always"], exitCodes: [] };
    const reason = "environment_protected" as const;
    const refuse = { type: "RefuseJob", ...within, reason, rules: { ...rules, retry } } as const;
    given()
      .when(refuse)
      .gives(failed({ reason, exitCode: null }));
    const mayFail = { ...rules, allowFailure: { always: true, exitCodes: [] } };
    given(blocked("RESOURCE_GROUP"))
      .when({ ...refuse, rules: mayFail })
      .gives(failed({ reason, exitCode: null, allowed: true }));
    given(queued()).when(refuse).givesNothing();
    given(failed({ reason, exitCode: null }), reset(userId))
      .when({ type: "QueueJob", ...within })
      .gives(queued());
  });
});
