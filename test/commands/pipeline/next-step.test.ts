import { expect } from "chai";

import {
  dependentsOf,
  inTurns,
  nextSteps,
  stepsAfterSuccess,
  type WaitingJob,
} from "../../../src/commands/pipeline/next-step.ts";
import { type PipelineStatus, pipelineStatus } from "../../../src/events/pipeline/status.ts";

const now = new Date("2026-01-02T03:04:05.678Z");

function jobOf(name: string, change: Partial<WaitingJob> = {}): WaitingJob {
  return {
    id: name,
    name,
    stageIndex: 1,
    status: "CREATED",
    when: "on_success",
    needs: null,
    mayFail: false,
    released: false,
    delayedUntil: null,
    ...change,
  };
}

const steps = (...jobs: readonly WaitingJob[]) =>
  nextSteps(jobs, now).map(({ jobId, step }) => `${step} ${jobId}`);

describe("what is next in a pipeline", () => {
  const second = (change: Partial<WaitingJob> = {}) =>
    jobOf("second", { stageIndex: 2, ...change });

  it("is the first stage, and each further one once the one before has passed", () => {
    expect(steps(jobOf("a"), jobOf("b"), second())).to.deep.equal(["queue a", "queue b"]);
    expect(steps(jobOf("a", { status: "RUNNING" }), second())).to.deep.equal([]);
    expect(steps(jobOf("a", { status: "SUCCESS" }), second())).to.deep.equal(["queue second"]);
    expect(steps(jobOf("a", { status: "WARNING" }), second())).to.deep.equal(["queue second"]);
    expect(steps(jobOf("a", { status: "SKIPPED" }), second())).to.deep.equal(["queue second"]);
  });

  for (const [when, after] of [
    ["on_success", { SUCCESS: "queue", FAILED: "skip", CANCELED: "skip" }],
    ["on_failure", { SUCCESS: "skip", FAILED: "queue", CANCELED: "queue" }],
    ["always", { SUCCESS: "queue", FAILED: "queue", CANCELED: "queue" }],
    ["manual", { SUCCESS: "hold", FAILED: "skip", CANCELED: "skip" }],
    ["delayed", { SUCCESS: "delay", FAILED: "skip", CANCELED: "skip" }],
  ] as const) {
    it(`is, for a job ${when}, what the stage before says`, () => {
      for (const [status, step] of Object.entries(after)) {
        const before = jobOf("a", { status: status as PipelineStatus });
        expect(steps(before, second({ when }))).to.deep.equal([`${step} second`]);
      }
    });
  }

  it("passes a manual job over that may fail, and waits for a required one", () => {
    const manual = (mayFail: boolean) => jobOf("a", { status: "MANUAL", mayFail });
    expect(steps(manual(true), second())).to.deep.equal(["queue second"]);
    expect(steps(manual(false), second())).to.deep.equal([]);
  });

  it("passes a canceled job over that may fail", () => {
    const canceled = jobOf("a", { status: "CANCELED", mayFail: true });
    expect(steps(canceled, second())).to.deep.equal(["queue second"]);
    expect(steps(canceled, second({ needs: ["a"] }))).to.deep.equal(["queue second"]);
    expect(steps(canceled, second({ when: "on_failure" }))).to.deep.equal(["skip second"]);
  });

  it("queues jobs that a user started, and delayed ones once they are due", () => {
    expect(steps(jobOf("a", { when: "manual", released: true }))).to.deep.equal(["queue a"]);
    const until = (ms: number) =>
      jobOf("a", { when: "delayed", delayedUntil: new Date(now.getTime() + ms) });
    expect(steps(until(0))).to.deep.equal(["queue a"]);
    expect(steps(until(1))).to.deep.equal([]);
  });

  it("follows needs, whatever the stages", () => {
    const last = (needs: readonly string[]) => jobOf("last", { stageIndex: 3, needs });
    const others = [jobOf("a", { status: "SUCCESS" }), jobOf("b", { status: "RUNNING" })];
    expect(steps(...others, last(["a"]))).to.deep.equal(["queue last"]);
    expect(steps(...others, last(["a", "b"]))).to.deep.equal([]);
    expect(steps(...others, last([]))).to.deep.equal(["queue last"]);
    expect(steps(jobOf("a", { status: "FAILED" }), last(["a"]))).to.deep.equal(["skip last"]);
    expect(steps(jobOf("a", { status: "SKIPPED" }), last(["a"]))).to.deep.equal(["skip last"]);
    const manual = jobOf("a", { status: "MANUAL", mayFail: true });
    expect(steps(manual, last(["a"]))).to.deep.equal(["skip last"]);
  });
});

describe("the jobs that depend on others", () => {
  it("are found along needs and stages", () => {
    const jobs = [
      jobOf("build"),
      jobOf("lint"),
      jobOf("unit", { stageIndex: 2, needs: ["build"] }),
      jobOf("docs", { stageIndex: 2, needs: ["lint"] }),
      jobOf("more", { stageIndex: 2, needs: ["unit"] }),
      jobOf("deploy", { stageIndex: 3 }),
    ];
    expect([...dependentsOf(jobs, new Set(["build"]))].sort()).to.deep.equal([
      "deploy",
      "more",
      "unit",
    ]);
    expect([...dependentsOf(jobs, new Set(["deploy"]))]).to.deep.equal([]);
  });
});

describe("the status of a pipeline", () => {
  const of = (words: readonly string[], isCanceled = false) =>
    pipelineStatus(
      words.map((word) => {
        const [status = "", mayFail] = word.split(" ");
        return { status: status as PipelineStatus, mayFail: mayFail !== undefined, count: 1 };
      }),
      { isCanceled },
    );

  for (const [statuses, expected] of [
    [["CREATED"], "CREATED"],
    [["PENDING", "CREATED"], "PENDING"],
    [["PENDING", "SUCCESS"], "RUNNING"],
    [["RUNNING", "FAILED"], "RUNNING"],
    [["WAITING_FOR_RESOURCE", "CREATED"], "WAITING_FOR_RESOURCE"],
    [["WAITING_FOR_RESOURCE", "SUCCESS"], "RUNNING"],
    [["CREATED", "SUCCESS"], "RUNNING"],
    [["SUCCESS", "SKIPPED"], "SUCCESS"],
    [["SUCCESS", "WARNING"], "WARNING"],
    [["SUCCESS", "WARNING", "FAILED", "CANCELED"], "FAILED"],
    [["SUCCESS", "CANCELED"], "CANCELED"],
    [["SUCCESS", "CANCELED mayFail"], "WARNING"],
    [["CANCELED", "CANCELED mayFail"], "CANCELED"],
    [["SKIPPED"], "SKIPPED"],
    [["SUCCESS", "MANUAL mayFail"], "SUCCESS"],
    [["WARNING", "MANUAL mayFail"], "WARNING"],
    [["MANUAL mayFail"], "SUCCESS"],
    [["SUCCESS", "MANUAL"], "MANUAL"],
    [["MANUAL", "CREATED"], "MANUAL"],
    [["MANUAL", "RUNNING"], "RUNNING"],
  ] as const) {
    it(`is ${expected} with jobs ${statuses.join(", ")}`, () => {
      expect(of(statuses)).to.equal(expected);
    });
  }

  it("is CANCELED for a canceled pipeline, whether or not its jobs may fail", () => {
    expect(of(["SUCCESS", "CANCELED mayFail"], true)).to.equal("CANCELED");
    expect(of(["SUCCESS", "WARNING"], true)).to.equal("WARNING");
  });
});

describe("jobs that start anew", () => {
  const all = (jobs: readonly WaitingJob[]) => inTurns(jobs, new Set(jobs.map(({ id }) => id)));

  it("do so stage by stage, and behind what they need", () => {
    const jobs = [
      jobOf("deploy", { stageIndex: 3 }),
      jobOf("pack", { stageIndex: 2, needs: ["unit"] }),
      jobOf("unit", { stageIndex: 2, needs: ["lint", "build"] }),
      jobOf("build"),
      jobOf("lint", { needs: [] }),
      jobOf("early", { stageIndex: 3, needs: ["lint"] }),
    ];
    expect(all(jobs)).to.deep.equal([["build", "lint"], ["unit", "early"], ["pack"], ["deploy"]]);
    expect(inTurns(jobs, new Set(["deploy", "unit"]))).to.deep.equal([["unit"], ["deploy"]]);
    expect(inTurns(jobs, new Set())).to.deep.equal([]);
  });

  it("are not skipped by former ends of what they wait for, at any moment", () => {
    const ended = [
      jobOf("build", { status: "FAILED" }),
      jobOf("unit", { stageIndex: 2, status: "SKIPPED" }),
      jobOf("pack", { stageIndex: 2, status: "SKIPPED", needs: ["build"] }),
      jobOf("sign", { stageIndex: 2, status: "SKIPPED", needs: ["pack"] }),
      jobOf("deploy", { stageIndex: 3, status: "SKIPPED" }),
      jobOf("late", { stageIndex: 4, status: "SKIPPED", needs: ["sign"] }),
    ];
    const now = new Map(ended.map((job) => [job.id, job]));
    for (const turn of all(ended)) {
      for (const id of turn) {
        now.set(id, { ...(now.get(id) as WaitingJob), status: "CREATED" });
        expect(steps(...now.values())).not.to.include(`skip ${id}`);
      }
    }
  });
});

describe("what is next after the success of a job that others need", () => {
  const done = jobOf("a", { status: "SUCCESS" });
  const stepsWith = (...jobs: readonly WaitingJob[]) =>
    stepsAfterSuccess("a", [done, ...jobs], now)?.map(({ jobId, step }) => `${step} ${jobId}`);
  const follower = (change: Partial<WaitingJob> = {}) => jobOf("b", { needs: ["a"], ...change });

  it("is each job that needs nothing else", () => {
    expect(stepsWith(follower(), jobOf("c", { needs: ["a"] }))).to.deep.equal([
      "queue b",
      "queue c",
    ]);
  });

  it("is nothing while the follower needs more", () => {
    const running = jobOf("c", { status: "RUNNING" });
    expect(stepsWith(follower({ needs: ["a", "c"] }), running)).to.deep.equal([]);
  });

  it("is no job that only the follower needs, whose own stages are not known", () => {
    expect(stepsWith(follower({ needs: ["a", "c"] }), jobOf("c"))).to.deep.equal([]);
  });

  it("takes all jobs of the pipeline where a step lets others begin at once", () => {
    for (const when of ["manual", "delayed", "on_failure"] as const) {
      expect(stepsWith(follower({ when })), when).to.equal(undefined);
    }
  });

  it("takes all jobs of the pipeline where a failed one may be retried, or none follows", () => {
    for (const status of ["FAILED", "WARNING"] as const) {
      const failed = jobOf("c", { status });
      expect(stepsWith(follower({ when: "always", needs: ["a", "c"] }), failed)).to.equal(
        undefined,
      );
    }
    expect(stepsWith()).to.equal(undefined);
    expect(stepsWith(follower({ status: "PENDING" }))).to.equal(undefined);
  });
});
