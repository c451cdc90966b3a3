import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type MirrorEvent, mirrorEvents } from "../../events/project/mirror.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { findSettings } from "../../projections/instance/settings.ts";
import { pushMirrors } from "../../projections/project/mirror-sync.ts";
import { findProjectById } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { mirrorJob } from "./mirror-sync.ts";
import { dropSync, dueMirrors, scheduleSync } from "./mirror-turn.ts";

/** Pushes that follow one another within so long go out together. */
const batchMs = 2_000;
const requestTypes = ["MirrorConfigured", "MirrorRemoved", "MirrorSyncRequested"];
const moved = new Set(Object.keys(repositoryEvents));

/** A mirror is synced when it was set up, when a user requests it, and a PUSH mirror after each push. */
export const mirrorReactor: Reactor = {
  name: "mirror",
  types: new Set([...requestTypes, ...moved]),
  react: (event, deps) => reactAll([event], deps),
  reactAll,
};

async function reactAll(events: readonly Recorded[], deps: WorkerDeps): Promise<readonly Job[]> {
  await deps.visible(events.at(-1)?.position);
  const jobs: Job[] = [];
  for (const event of events) {
    if (!moved.has(event.type)) jobs.push(...(await afterChange(event, deps)));
  }
  return [
    ...jobs,
    ...(await afterPushes(
      events.filter(({ type }) => moved.has(type)),
      deps,
    )),
  ];
}

/** Most projects have no mirror, and one query shows it for many pushes. */
async function afterPushes(
  events: readonly Recorded[],
  { db, now }: WorkerDeps,
): Promise<readonly Job[]> {
  if (events.length === 0) return [];
  const projectIds = [...new Set(events.map(({ stream }) => idInStream(stream)))];
  const mirrors = await pushMirrors(db, projectIds);
  const at = new Date(now().getTime() + batchMs);
  for (const [projectId, mirrorId] of mirrors) {
    await scheduleSync(db, { projectId, mirrorId }, "PUSH", at);
  }
  return events
    .map(({ stream, metadata }) => ({ projectId: idInStream(stream), push: metadata.commandId }))
    .filter(({ projectId }) => mirrors.has(projectId))
    .map(({ projectId, push }) => mirrorJob(projectId, push, batchMs));
}

async function afterChange(recorded: Recorded, deps: WorkerDeps): Promise<readonly Job[]> {
  const { id, type, data }: Recorded<MirrorEvent> = decode(mirrorEvents, recorded);
  if (type === "MirrorRemoved") {
    await dropSync(deps.db, data.projectId, data.mirrorId);
    return [];
  }
  const project = await findProjectById(deps.db, data.projectId);
  // Removed again, or made anew: that has an event of its own.
  if (project?.mirror_id !== data.mirrorId || project.mirror_type === null) return [];
  await scheduleSync(deps.db, data, project.mirror_type, deps.now());
  return [mirrorJob(data.projectId, id)];
}

/** Finds the mirrors whose interval or pause is over, and those whose worker died. */
export async function sweepMirrors(deps: WorkerDeps): Promise<void> {
  const now = deps.now();
  const due = await dueMirrors(deps.db, await findSettings(deps.db), now);
  // The name changes with every sweep: a job that found nothing to do must not stand in the way.
  await deps.queues.add(due.map(({ project_id }) => mirrorJob(project_id, now.getTime())));
}
