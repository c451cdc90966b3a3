import { pipelineSchedule } from "../../../src/commands/pipeline/schedule.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { pipelineScheduleEvents } from "../../../src/events/pipeline/schedule.ts";
import { specify } from "../../support/app/decider.ts";

type PipelineScheduleEvent = EventOf<typeof pipelineScheduleEvents>;

const given = specify(pipelineSchedule);
const [anna, bob] = [1, 2].map((n) => UserId.parse(`0b0e6c0a-3c55-4d0c-9c2e-5f6a7b8c9d0${n}`));
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const at = "2026-01-02T03:04:05.678Z";
const schedule = { scheduleId: "2d3e4f50-6172-4839-a4b5-c6d7e8f90124", projectId };
const written = Sealed.parse("sealed.project-1.AAAA");
const plain = { description: "", cron: "0 3 * * *", timezone: "UTC", isTag: false, active: true };
const settings = { ...plain, ref: "main", variables: written };
const created: PipelineScheduleEvent = {
  type: "PipelineScheduleCreated",
  data: { ...schedule, settings, nextRunAt: at, createdById: anna!, createdAt: at },
};
/** As it was possible before schedules could be taken over. */
const changedByBob: PipelineScheduleEvent = {
  type: "PipelineScheduleChanged",
  data: { ...schedule, settings, nextRunAt: at, changedById: bob!, changedAt: at },
};
const move = (by: UserId, more: object = {}) =>
  ({
    type: "ChangeSchedule",
    ...schedule,
    settings: { ...plain, ref: "other", ...more },
    nextRunAt: at,
    by,
    at,
  }) as const;
const moved = (by: UserId, variables: Sealed | null): PipelineScheduleEvent => ({
  type: "PipelineScheduleChanged",
  data: {
    ...schedule,
    settings: { ...plain, ref: "other", variables },
    nextRunAt: at,
    changedById: by,
    changedAt: at,
  },
});
const takenOver = (by: UserId, variables: Sealed | null): PipelineScheduleEvent => ({
  type: "PipelineScheduleTakenOver",
  data: { ...schedule, variables, takenOverById: by, takenOverAt: at },
});

describe("the variables of a schedule", () => {
  it("go to another ref with the person who wrote them", () => {
    given(created).when(move(anna!)).gives(moved(anna!, written));
  });

  it("are dropped when an owner who did not write them changes the ref", () => {
    given(created, changedByBob).when(move(bob!)).gives(moved(bob!, null));
    const own = Sealed.parse("sealed.project-1.BBBB");
    given(created, changedByBob)
      .when(move(bob!, { variables: own }))
      .gives(moved(bob!, own));
  });

  it("stay with the person who wrote them, and with nobody else who takes it over", () => {
    const take = (by: UserId) => ({ type: "TakeOverSchedule", ...schedule, by, at }) as const;
    given(created).when(take(bob!)).gives(takenOver(bob!, null));
    given(created, changedByBob).when(take(anna!)).gives(takenOver(anna!, written));
    given(created, takenOver(bob!, null)).when(take(anna!)).gives(takenOver(anna!, null));
  });
});

describe("a schedule", () => {
  it("is changed and deleted by its owner alone, in a race as well", () => {
    given(created, takenOver(bob!, null)).when(move(anna!)).refuses("schedule.not_owner");
    given(created)
      .when({ type: "DeleteSchedule", ...schedule, by: bob!, at })
      .refuses("schedule.not_owner");
  });
});
