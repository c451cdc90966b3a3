import type { EventOf, Recorded } from "../../events/core/event.ts";
import type { localIdEvents } from "../../events/core/local-id.ts";
import { serviceNumberProject, serviceNumberSubject } from "../../events/pipeline/number.ts";
import type { Writes } from "../core/writes.ts";

type Assigned = Recorded<EventOf<typeof localIdEvents>>;

/** Numbers of pipelines and jobs, a statement for all of a kind. */
export function applyNumbers(rows: Writes, events: readonly Assigned[]): void {
  numberInService(
    rows,
    events.filter(({ data }) => data.projectId === serviceNumberProject),
  );
  const inProject = events.filter(({ data }) => data.projectId !== serviceNumberProject);
  numberPipelines(
    rows,
    inProject.filter(({ data }) => data.kind === "PIPELINE"),
  );
  numberJobs(
    rows,
    inProject.filter(({ data }) => data.kind === "JOB"),
  );
}

const columnsOf = (events: readonly Assigned[]) => [
  events.map(({ data }) => data.subjectId),
  events.map(({ data }) => data.localId),
];

function numberInService(rows: Writes, events: readonly Assigned[]): void {
  for (const { data } of events) {
    if (data.kind !== "PIPELINE") continue;
    const id = serviceNumberSubject(data.subjectId);
    rows.run((db) => db("pipeline").where({ id }).update({ number: data.localId }));
  }
}

function numberPipelines(rows: Writes, events: readonly Assigned[]): void {
  if (events.length === 0) return;
  // Agents get no job of a pipeline before.
  rows.announce("jobs");
  // Only what had no number counts: an event that is applied again changes nothing.
  rows.run((db) =>
    db.raw(
      `with numbered as (
         update pipeline set local_id = given.local_id
         from unnest(?::uuid[], ?::int[]) as given (id, local_id)
         where pipeline.id = given.id and pipeline.local_id is null
         returning pipeline.project_id
       )
       insert into pipeline_count (project_id, total)
       select project_id, count(*)::int from numbered group by project_id
       on conflict (project_id) do update set total = pipeline_count.total + excluded.total`,
      columnsOf(events),
    ),
  );
}

function numberJobs(rows: Writes, events: readonly Assigned[]): void {
  if (events.length === 0) return;
  rows.run((db) =>
    db.raw(
      `update pipeline_job set local_id = given.local_id
       from unnest(?::uuid[], ?::int[]) as given (id, local_id)
       where pipeline_job.id = given.id`,
      columnsOf(events),
    ),
  );
}
