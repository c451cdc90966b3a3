import { assignLocalId } from "../../commands/core/local-id.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { bySystem } from "../../events/core/system.ts";
import {
  type PipelineEvent,
  pipelineEvents,
  pipelineStream,
} from "../../events/pipeline/pipeline.ts";
import type { WebhookTopic } from "../../events/webhook/webhook.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { findPipelineById, pipelineIds } from "../../projections/pipeline/query.ts";
import { findProjectById } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { PayloadBuilder } from "./payload.ts";

/** PIPELINE_*: a pipeline was created, or ended with success, a failure or warnings. */
export const pipelinePayload: PayloadBuilder = {
  types: new Set(["PipelineCreated", "PipelineFinished"]),
  streams: async (projectId, { db }) => (await pipelineIds(db, projectId)).map(pipelineStream),
  async build(recorded, deps) {
    const event = decode(pipelineEvents, recorded);
    const topic = topicOf(event);
    if (topic === undefined) return undefined;
    return { projectId: event.data.projectId, topic, fields: () => fieldsOf(event, deps) };
  },
};

const topicsOfEnds: Partial<Readonly<Record<string, WebhookTopic>>> = {
  SUCCESS: "PIPELINE_SUCCESS",
  FAILED: "PIPELINE_FAIL",
  WARNING: "PIPELINE_WARNING",
};

function topicOf({ type, data }: PipelineEvent): WebhookTopic | undefined {
  if (type === "PipelineCreated") return "PIPELINE_NEW";
  return type === "PipelineFinished" ? topicsOfEnds[data.status] : undefined;
}

async function fieldsOf(event: Recorded<PipelineEvent>, deps: WorkerDeps) {
  const { db, git, visible, publicUrl, store } = deps;
  await visible(event.position);
  const { pipelineId, projectId } = event.data;
  const created = await createdEvent(event, store);
  const [row, project, repository] = await Promise.all([
    findPipelineById(db, pipelineId),
    findProjectById(db, projectId),
    git.find(projectId),
  ]);
  const commitId = created?.commitId ?? row?.commit_id ?? null;
  const commit = commitId === null ? undefined : await repository?.objects.commit(commitId);
  const localId = row?.local_id ?? (await numberOf(event, deps));
  const path = `${project?.owner_alias}/${project?.alias}/cicd/pipeline/${localId}`;
  const finished = event.type === "PipelineFinished" ? event.data : undefined;
  return {
    pipeline: {
      id: pipelineId,
      local_id: localId,
      url: localId === null ? null : `${publicUrl}/project/${path}`,
      ref: created?.ref ?? row?.ref ?? null,
      status: finished?.status ?? (created?.failureReason ? "FAILED" : "CREATED"),
      source: created?.source ?? row?.source ?? null,
      commit_id: commitId,
      commit: { id: commitId, author_name: commit?.author.name ?? null },
      duration: finished?.durationSeconds ?? null,
      failure_reason: finished?.failureReason ?? created?.failureReason ?? null,
    },
  };
}

/** The payload is built before the number is in the read models. */
async function numberOf(
  event: Recorded<PipelineEvent>,
  { store, now }: WorkerDeps,
): Promise<number | null> {
  if (event.type !== "PipelineCreated") return null;
  const { pipelineId: subjectId, projectId } = event.data;
  const clock = () => now().toISOString();
  const toNumber = { kind: "PIPELINE", projectId, subjectId } as const;
  const metadata = bySystem({ commandId: deterministicId("number pipeline", subjectId) }, clock());
  const numbered = { ...toNumber, createdPosition: event.position };
  return (await assignLocalId({ store, now: clock }, numbered, metadata)).localId;
}

/** Of the log, as the read model has nothing of a deleted pipeline. */
async function createdEvent({ data }: PipelineEvent, store: WorkerDeps["store"]) {
  for await (const recorded of store.readStream(pipelineStream(data.pipelineId))) {
    const first = decode(pipelineEvents, recorded);
    return first.type === "PipelineCreated" ? first.data : undefined;
  }
  return undefined;
}
