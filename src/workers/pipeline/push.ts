import { z } from "zod";

import { decode } from "../../events/core/decode.ts";
import { EventMetadata, type PushWishes } from "../../events/core/event.ts";
import { ObjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { type RepositoryEvent, repositoryEvents } from "../../events/repository/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { refsOfPush } from "../../projections/pipeline/push.ts";
import { findProjectById } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { type Turn, takeTurn } from "../../services/pipeline/push-order.ts";
import { startPipeline } from "../../services/pipeline/start.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { creationSlots, creationsAtOnce } from "./creation-slot.ts";

const queue = "pipeline-create";
/** A push of more refs starts no pipeline. */
const refsMax = 100;

type Pushed = Pick<PipelineOrigin, "ref" | "isTag" | "beforeCommitId"> &
  Readonly<{ commitId: string }>;

/** A pipeline for each branch and tag that a push brought or moved. */
export const pipelinePush: Reactor = {
  name: "pipeline-push",
  types: new Set(["BranchCreated", "BranchUpdated", "TagCreated", "TagUpdated"]),
  react: async (recorded) => {
    const event = decode(repositoryEvents, recorded);
    const pushed = pushedBy(event);
    if (pushed === undefined) return [];
    const { metadata, stream, id, position } = recorded;
    const userId = event.data.changedById;
    const data = { projectId: idInStream(stream), ...pushed, userId, metadata, eventId: id };
    return [{ queue, id, data: { ...data, position: String(position) } }];
  },
};

/** Undefined for a tag of a tree or a blob. */
function pushedBy({ type, data }: RepositoryEvent): Pushed | undefined {
  switch (type) {
    case "BranchCreated":
      return { ref: data.branch, isTag: false, commitId: data.commitId, beforeCommitId: null };
    case "BranchUpdated":
      return { ref: data.branch, isTag: false, commitId: data.after, beforeCommitId: data.before };
    case "TagCreated":
    case "TagUpdated":
      if (data.commitId === null) return undefined;
      return { ref: data.tag, isTag: true, commitId: data.commitId, beforeCommitId: null };
    case "BranchDeleted":
    case "TagDeleted":
      return undefined;
  }
}

/** Whether the message of a commit says that no pipeline is to start. */
export const isSkipped = (message: string): boolean =>
  /\[(?:ci[ _-]skip|skip[ _-]ci)\]/i.test(message);

const Payload = z.object({
  projectId: z.uuid(),
  ...PipelineOrigin.pick({ ref: true, isTag: true, beforeCommitId: true, userId: true }).shape,
  commitId: ObjectId,
  metadata: EventMetadata,
  eventId: z.string(),
  position: z.string(),
});

export const pipelineCreateWorker = defineWorker({
  queue,
  concurrency: creationsAtOnce,
  payload: Payload,
  run(payload, deps, signal) {
    const { userId, projectId } = payload;
    return creationSlots.run(() => createInTurn(payload, deps), {
      caller: userId ?? projectId,
      signal,
    });
  },
});

/** Among those that have a slot: one without could wait for the slot of another that waits for its turn. */
async function createInTurn(payload: z.output<typeof Payload>, deps: WorkerDeps): Promise<void> {
  const turn = takeTurn(payload.metadata.commandId, BigInt(payload.position));
  try {
    await create(payload, turn, deps);
  } finally {
    turn.pass();
  }
}

async function create(
  { projectId, metadata, eventId, position, ...pushed }: z.output<typeof Payload>,
  turn: Turn,
  deps: WorkerDeps,
): Promise<void> {
  await deps.visible(BigInt(position));
  const project = await findProjectById(deps.db, projectId);
  if (project === undefined) return;
  if ((await refsOfPush(deps.db, projectId, metadata.commandId, refsMax + 1)) > refsMax) return;
  const repository = await deps.git.find(projectId);
  const commit = await repository?.objects.commit(pushed.commitId);
  if (commit === undefined || isSkipped(commit.message) || metadata.push?.ciSkip) return;
  const own = { source: "PUSH", parent: null, mergeRequest: null, startedBy: null } as const;
  const commandId = deterministicId("pipeline of push", eventId);
  const { push, ...cause } = metadata;
  const envelope = { ...cause, commandId, causationId: eventId };
  const origin = { ...pushed, ...own };
  const variables = await variablesOf(push, deps);
  await startPipeline(deps, { project, origin, variables, metadata: envelope, turn });
}

const Variables = z.record(z.string(), z.string());

/** What `git push -o ci.variable=K=V` gave; none once the project's key was deleted. */
async function variablesOf(
  push: PushWishes | undefined,
  { vault }: Pick<WorkerDeps, "vault">,
): Promise<Readonly<Record<string, string>>> {
  const text = push?.ciVariables ? await vault.open(push.ciVariables) : null;
  return text === null ? {} : Variables.parse(JSON.parse(text));
}
