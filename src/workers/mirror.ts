import { decode } from "../events/decode.ts";
import type { Recorded } from "../events/event.ts";
import { type MirrorEvent, mirrorEvents } from "../events/mirror.ts";
import { repositoryEvents } from "../events/repository.ts";
import { idInStream } from "../events/stream.ts";
import type { Job } from "../platform/queue.ts";
import { findProjectById } from "../projections/project.ts";
import { findSettings } from "../projections/settings.ts";
import type { WorkerDeps } from "./deps.ts";
import { mirrorJob } from "./mirror-sync.ts";
import { dropSync, dueMirrors, wantSync } from "./mirror-turn.ts";
import type { Reactor } from "./reactor.ts";

/** Pushes that follow one another within so long go out together. */
const gatherMs = 2_000;
const asked = ["MirrorConfigured", "MirrorRemoved", "MirrorSyncRequested"];
const moved = new Set(Object.keys(repositoryEvents));

/** A mirror is synced when it was set up, when somebody asks, and a PUSH mirror after each push. */
export const mirrorReactor: Reactor = {
  name: "mirror",
  types: new Set([...asked, ...moved]),
  async react(event, deps) {
    await deps.visible(event.position);
    return moved.has(event.type) ? afterPush(event, deps) : afterChange(event, deps);
  },
};

async function afterPush(
  { stream, metadata }: Recorded,
  deps: WorkerDeps,
): Promise<readonly Job[]> {
  const projectId = idInStream(stream);
  const project = await findProjectById(deps.db, projectId);
  if (project?.mirror_type !== "PUSH" || project.mirror_id === null) return [];
  const at = new Date(deps.now().getTime() + gatherMs);
  await wantSync(deps.db, { projectId, mirrorId: project.mirror_id }, "PUSH", at);
  return [mirrorJob(projectId, metadata.commandId, gatherMs)];
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
  await wantSync(deps.db, data, project.mirror_type, deps.now());
  return [mirrorJob(data.projectId, id)];
}

/** Finds the mirrors whose interval or pause is over, and those whose worker died. */
export async function sweepMirrors(deps: WorkerDeps): Promise<void> {
  const now = deps.now();
  const due = await dueMirrors(deps.db, await findSettings(deps.db), now);
  // The name changes with every sweep: a job that found nothing to do must not stand in the way.
  await deps.queues.add(due.map(({ project_id }) => mirrorJob(project_id, now.getTime())));
}
