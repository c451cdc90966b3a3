import { expect } from "chai";

import { pipeline } from "../../../src/commands/pipeline/pipeline.ts";
import { ProjectId } from "../../../src/events/core/ids.ts";
import type { PipelineEvent } from "../../../src/events/pipeline/pipeline.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import {
  created,
  jobIdOf,
  origin,
  pipelineId,
  planned,
  projectId,
  specOf,
  userId,
} from "../../support/agent/pipeline.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(pipeline);
const within = { pipelineId, projectId, at } as const;
const otherProject = ProjectId.parse(deterministicId("another project"));
const plan = {
  variables: null,
  name: null,
  autoCancel: "conservative",
  failureReason: null,
} as const;
const jobs = [{ jobId: jobIdOf("a"), spec: specOf("a") }];
const finished = (status: "SUCCESS" | "FAILED"): PipelineEvent => ({
  type: "PipelineFinished",
  data: { ...within2, status, durationSeconds: 3, failureReason: null, finishedAt: at },
});
const within2 = { pipelineId, projectId };
const restarted: PipelineEvent = {
  type: "PipelineRestarted",
  data: { ...within2, restartedById: userId, restartedAt: at },
};
const canceled: PipelineEvent = {
  type: "PipelineCanceled",
  data: { ...within2, canceledById: userId, canceledAt: at },
};
const deleted: PipelineEvent = {
  type: "PipelineDeleted",
  data: { ...within2, deletedById: userId, deletedAt: at },
};

describe("creating a pipeline", () => {
  const create = {
    type: "CreatePipeline",
    ...within,
    ...origin,
    ...plan,
    jobs: 1,
    planned: jobs,
  } as const;

  it("records it with the first of its jobs, once", () => {
    given()
      .when(create)
      .gives(created(1), planned(specOf("a")));
    given(created(1)).when(create).givesNothing();
    given(created(1), deleted).when(create).givesNothing();
  });

  it("ends at once when its file is wrong", () => {
    const failureReason = "It is wrong.";
    given()
      .when({ ...create, jobs: 0, planned: [], failureReason })
      .gives(created(0, { failureReason }), {
        type: "PipelineFinished",
        data: { ...within2, status: "FAILED", durationSeconds: 0, failureReason, finishedAt: at },
      });
  });

  it("takes further jobs in order, each part once", () => {
    const more = {
      type: "PlanJobs",
      ...within,
      from: 1,
      planned: [{ jobId: jobIdOf("b"), spec: specOf("b") }],
    } as const;
    const second: PipelineEvent = {
      type: "PipelineJobsPlanned",
      data: { ...within2, from: 1, jobs: [...more.planned], plannedAt: at },
    };
    given(created(2), planned(specOf("a")))
      .when(more)
      .gives(second);
    given(created(2), planned(specOf("a")), second)
      .when(more)
      .givesNothing();
    const tooEarly = given(created(3), planned(specOf("a"))).when({ ...more, from: 2 });
    expect(() => tooEarly.givesNothing()).to.throw("planned in order");
  });
});

describe("the end of a pipeline", () => {
  const finish = {
    type: "FinishPipeline",
    ...within,
    status: "SUCCESS",
    durationSeconds: 3,
    failureReason: null,
  } as const;

  it("is recorded once, and again after a restart", () => {
    given(created(1)).when(finish).gives(finished("SUCCESS"));
    given(created(1), finished("SUCCESS")).when(finish).givesNothing();
    given(created(1), finished("SUCCESS"), restarted).when(finish).gives(finished("SUCCESS"));
    given(created(1), finished("FAILED")).when(finish).gives(finished("SUCCESS"));
  });

  it("allows a restart, as a cancellation does", () => {
    const restart = { type: "RestartPipeline", ...within, by: userId } as const;
    given(created(1), finished("FAILED")).when(restart).gives(restarted);
    given(created(1), canceled).when(restart).gives(restarted);
    given(created(1)).when(restart).givesNothing();
  });

  it("cannot be canceled any more", () => {
    const cancel = { type: "CancelPipeline", ...within, by: userId } as const;
    given(created(1)).when(cancel).gives(canceled);
    given(created(1), canceled).when(cancel).givesNothing();
    given(created(1), finished("SUCCESS")).when(cancel).refuses("pipeline.finished");
    given(created(1), canceled, restarted).when(cancel).gives(canceled);
  });
});

describe("deleting a pipeline", () => {
  const remove = { type: "DeletePipeline", ...within, by: userId, status: "SUCCESS" } as const;

  it("is possible once, after the end", () => {
    given(created(1)).when(remove).gives(deleted);
    given(created(1), deleted).when(remove).givesNothing();
    for (const status of ["RUNNING", "PENDING", "CREATED", "WAITING_FOR_RESOURCE"] as const) {
      given(created(1))
        .when({ ...remove, status })
        .refuses("pipeline.running");
    }
    given(created(1))
      .when({ ...remove, status: "MANUAL" })
      .gives(deleted);
  });

  it("belongs to its project, as everything else", () => {
    for (const command of [remove, { type: "CancelPipeline", ...within, by: userId } as const]) {
      given(created(1))
        .when({ ...command, projectId: otherProject })
        .refuses("pipeline.not_found");
      given().when(command).refuses("pipeline.not_found");
    }
  });
});
