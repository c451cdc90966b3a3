import type { Recorded } from "../../../src/events/core/event.ts";
import { localIdEvents } from "../../../src/events/core/local-id.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import {
  mergeRequestPipeline,
  mergeRequestPipelineWorker,
} from "../../../src/workers/merge-request/pipeline.ts";
import { pipelinesOf } from "../agent/pipeline-app.ts";
import { startTestApp } from "../app/app.ts";
import { git } from "../git/git.ts";
import { type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

export const warnings: unknown[] = [];

const files = { ".forge-ci.yaml": "workflow: {rules: [{when: always}]}\ncheck: {script: x}" };

export async function givenRequestPipelines() {
  // Without workers: what they do, and when, is said here.
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob } = people;
  const log = { ...app.deps.log, warn: (line: unknown) => warnings.push(line) };
  const deps = {
    ...app.deps,
    log,
    outbound: undefined as never,
    proxy: undefined as never,
  } as never;
  async function given() {
    const world = await newWorld();
    await world.push("main", { "main.txt": "main\n" });
    const source = await world.push("feature", files);
    return { world, source, ci: pipelinesOf(app, anna, world.project) };
  }
  /** Events of a type, in the order of the log. */
  async function eventsOf(world: MergeWorld, type: string): Promise<readonly Recorded[]> {
    const found: Recorded[] = [];
    for await (const event of app.deps.store.readAll()) {
      if (event.type !== type) continue;
      const opened = type === "LocalIdAssigned" ? localIdEvents[type].parse(event.data) : undefined;
      if (opened && (opened.kind !== "MERGE_REQUEST" || opened.projectId !== world.project.id))
        continue;
      found.push(event);
    }
    return found;
  }
  /** Runs the worker for an event, on each call. */
  async function work(event: Recorded | undefined): Promise<void> {
    for (const { data } of await mergeRequestPipeline.react(event!, deps)) {
      await mergeRequestPipelineWorker.runJob(data, deps, new AbortController().signal);
    }
  }
  const rowOf = async (world: MergeWorld, localId = 1) =>
    (await findMergeRequest(app.deps.db, world.project.id, localId))!;
  async function pushAs(world: MergeWorld, user: typeof bob, file: string): Promise<string> {
    await git(world.copy, "checkout", "--quiet", "feature");
    await git(world.copy, "commit", "--quiet", "--allow-empty", "-m", `Add ${file}`);
    await git(world.copy, "push", "--quiet", world.remote(user), "feature");
    return git(world.copy, "rev-parse", "HEAD");
  }
  return {
    ...{ app, newWorld, anna, bob, deps, given, eventsOf, work, rowOf, pushAs },
  };
}
