import type { Knex } from "knex";
import { z } from "zod";

import { currentState, handle } from "../../commands/core/handle.ts";
import { isExisting, project } from "../../commands/project/project.ts";
import { pushCount } from "../../commands/user/push-count.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { ObjectId, ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  type RepositoryEvent,
  repositoryEvents,
  repositoryStream,
} from "../../events/repository/repository.ts";
import { pushCountEvents, pushCountStream } from "../../events/user/push-count.ts";
import { countPushedExtensions } from "../../git/push/extension.ts";
import type { Repository } from "../../git/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { countedTips } from "../../projections/user/push-count.ts";
import { asyncCommit } from "../../services/core/async-commit.ts";
import { causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { measure } from "../repository/size.ts";

const queue = "push-count";
/** A fork of a fork of …: further up there is nothing that the nearer ones do not have as well. */
const upstreamMax = 8;
/** Changes that are counted at once; keeps the event well below what a store takes. */
const changesAtOnce = 1_000;
const replacedMax = 5_000;

export type PushCountDeps = Pick<WorkerDeps, "store" | "db" | "git" | "visible" | "now">;

/** After each push, whatever it did to refs: what it left behind is measured as well. */
export const pushCountReactor: Reactor = {
  name: "push-count",
  types: new Set(Object.keys(repositoryEvents)),
  react: async ({ stream, revision }) => {
    const projectId = idInStream(stream);
    return [
      { queue, id: `${projectId}-${revision}`, data: { projectId, revision: Number(revision) } },
    ];
  },
  // It counts whatever is there before its own revision as well.
  coveredBy: ({ data }) => String(data["projectId"]),
  batchMs: 250,
};

export const pushCountWorker = defineWorker({
  queue,
  concurrency: 4,
  payload: z.object({ projectId: z.uuid(), revision: z.int().nonnegative() }),
  run: ({ projectId, revision }, deps, signal) => countPushes(deps, projectId, revision, signal),
});

/**
 * Counts what pushes brought, in the order of the log, and measures the size of the project since. A
 * commit counts once in a project, for the user who pushed it there first, and not in a fork when the
 * project it was forked from has it. Stopped at any line and run again it counts nothing twice: one event
 * records both the count and how far it reaches.
 *
 * @param revision of the repository's stream, up to which counting must reach at least
 */
export async function countPushes(
  deps: PushCountDeps,
  projectId: string,
  revision: number,
  signal: AbortSignal,
): Promise<void> {
  if (revision <= (await progressOf(deps.db, projectId))) return;
  const line = await lineOf(deps, projectId);
  // Upstream first: what a fork began with must not be there before it is counted where it came from.
  for (const [index, id] of line.entries()) {
    const repository = await deps.git.find(id);
    if (repository === undefined) continue;
    const upstream = line.slice(0, index);
    const last = await countProject(deps, { projectId: id, repository, upstream }, signal);
    // What was counted is there to be measured, and is again when this process dies before the end.
    if (id === projectId) await measure(projectId, deps);
    if (last !== undefined) await saveProgress(deps.db, id, last);
  }
}

/** The project, and before it those it was forked from, the first one first. */
async function lineOf({ store }: PushCountDeps, projectId: string): Promise<readonly string[]> {
  const line = [projectId];
  while (line.length <= upstreamMax) {
    const state = await currentState(store, project, line[0] ?? "");
    if (!isExisting(state) || state.forkedFromId === undefined) break;
    line.unshift(state.forkedFromId);
  }
  return line;
}

type Subject = Readonly<{
  projectId: string;
  repository: Repository;
  upstream: readonly string[];
}>;

/** @returns up to which revision everything is counted now; undefined when that is known already */
async function countProject(
  deps: PushCountDeps,
  subject: Subject,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { store, db } = deps;
  const { projectId } = subject;
  let known = await lastCounted(deps, projectId);
  const progress = await progressOf(db, projectId);
  const seen = Math.max(known.counted, progress);
  let group: Recorded<RepositoryEvent>[] = [];
  let last = seen;
  const take = async (): Promise<void> => {
    const wrote = await countGroup(deps, subject, { group, known }, signal);
    if (wrote) known = await lastCounted(deps, projectId);
    group = [];
  };
  for await (const recorded of store.readStream(repositoryStream(projectId), BigInt(seen + 1))) {
    const event = decode(repositoryEvents, recorded);
    const [before] = group;
    const samePerson = before?.data.changedById === event.data.changedById;
    if (!samePerson || group.length >= changesAtOnce) await take();
    group.push(event);
    last = Number(event.revision);
  }
  await take();
  return last > progress ? last : undefined;
}

type Counting = Readonly<{
  /** Changes one after another that one person made, in however many pushes. */
  group: readonly Recorded<RepositoryEvent>[];
  known: Awaited<ReturnType<typeof lastCounted>>;
}>;

/** @returns whether there was something to write down */
async function countGroup(
  deps: PushCountDeps,
  { projectId, repository, upstream }: Subject,
  { group, known }: Counting,
  signal: AbortSignal,
): Promise<boolean> {
  const { store, db, git, now } = deps;
  const event = group.at(-1);
  const reached = new Set(group.flatMap(commitAfter));
  if (event === undefined || reached.size === 0) return false;
  if (known.counted >= Number(event.revision)) return false;
  await deps.visible(known.position);
  const except = await countedTips(db, [projectId, ...upstream]);
  // Commits that were counted under another ref name need no query of git.
  const tips = new Set([...reached].filter((tip) => !except.has(tip)));
  if (tips.size === 0) return false;
  const others = await Promise.all(upstream.map((id) => git.find(id)));
  const beside = others.flatMap((other) => (other === undefined ? [] : [other.gitDir]));
  const { gitDir } = repository;
  const found = await countPushedExtensions(gitDir, { tips, except, beside }, signal);
  if (found.commits === 0) return false;

  const counted = {
    projectId: ProjectId.parse(projectId),
    userId: event.data.changedById,
    repositoryRevision: Number(event.revision),
    commits: found.commits,
    extensions: Object.fromEntries(found.extensions),
    tips: [...found.tips].map((id) => ObjectId.parse(id)),
    // Those left out are redundant from here on: it costs git time, no more.
    replaces: [...found.followed].slice(0, replacedMax).map((id) => ObjectId.parse(id)),
  };
  const command = { type: "CountPush", counted, at: now().toISOString() } as const;
  const metadata = causedBy(event, deterministicId("push count", event.id), now());
  const state = { repositoryRevision: known.counted };
  const { position } = await handle(
    store,
    pushCount,
    { id: projectId, command, metadata },
    { state, revision: known.revision, position: known.position },
  );
  await deps.visible(position);
  return true;
}

/** Deleted refs bring nothing, nor do tags of trees and files. */
function commitAfter({ type, data }: Recorded<RepositoryEvent>): readonly string[] {
  switch (type) {
    case "BranchCreated":
      return [data.commitId];
    case "BranchUpdated":
      return [data.after];
    case "TagCreated":
    case "TagUpdated":
      return data.commitId === null ? [] : [data.commitId];
    case "BranchDeleted":
    case "TagDeleted":
    case "NotesChanged":
      return [];
  }
}

async function lastCounted({ store }: PushCountDeps, projectId: string) {
  for await (const recorded of store.readStreamBackwards(pushCountStream(projectId), 1)) {
    const { data, revision, position } = decode(pushCountEvents, recorded);
    return { counted: data.repositoryRevision, revision, position };
  }
  return { counted: -1, revision: "none", position: undefined } as const;
}

type ProgressRow = Readonly<{ project_id: string; revision: bigint }>;

async function progressOf(db: Knex, project_id: string): Promise<number> {
  const row = await db<ProgressRow>("push_count_progress").where({ project_id }).first("revision");
  return Number(row?.revision ?? -1);
}

async function saveProgress(db: Knex, project_id: string, revision: number): Promise<void> {
  await asyncCommit(db, (tx) =>
    tx("push_count_progress")
      .insert({ project_id, revision })
      .onConflict("project_id")
      .merge({ revision: tx.raw("greatest(push_count_progress.revision, excluded.revision)") }),
  );
}
