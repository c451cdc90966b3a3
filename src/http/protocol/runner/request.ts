import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

import { jobNumber } from "../../../events/pipeline/number.ts";
import { beginRun } from "../../../platform/job-log/store.ts";
import { hashToken, newToken, tokenPrefixes } from "../../../platform/key/token.ts";
import { NotOpened } from "../../../platform/key/vault.ts";
import { timeoutSignal } from "../../../platform/time/timeout-signal.ts";
import type { AgentRow } from "../../../projections/agent/agent.ts";
import { artifactsOf } from "../../../projections/agent/artifact.ts";
import { projectIdsOf } from "../../../projections/agent/project.ts";
import type { QueuedJob } from "../../../projections/pipeline/queue.ts";
import { findProjectById } from "../../../projections/project/project.ts";
import { type ClaimedJob, claimNextJob } from "../../../services/pipeline/claim.ts";
import { isProtectedRef } from "../../../services/pipeline/create.ts";
import { type JobPayload, jobPayload } from "../../../services/pipeline/payload.ts";
import type { StreamReply } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { AgentCredentials, agentOf, authenticatedAgent, featuresOf } from "./authentication.ts";
import { featuresNeeded, type JobAnswer, jobAnswer, neededFeatures } from "./job-answer.ts";
import { recordUnreadable } from "./job-record.ts";
import { keepRun } from "./masks.ts";
import { protocol } from "./protocol.ts";
import { type HeldRequest, holdMsDefault, waitingFor } from "./queue.ts";

const JobRequest = AgentCredentials.extend({
  last_update: z.string().max(255).default(""),
}).meta({ id: "JobRequest" });

const requestJob = route({
  ...protocol,
  method: "post",
  path: "/api/v4/jobs/request",
  operationId: "requestJob",
  summary: "Ask for a job, and wait for one up to 50 s",
  description: "An inactive agent gets 204.",
  secret: true,
  status: 201,
  otherAnswers: { 204: "There is no job." },
  body: JobRequest,
  reply: "stream",
  async handle({ body, request }, deps) {
    const agent = await authenticatedAgent(request, deps, body);
    if (!agent.active) return none();
    const features = new Set(featuresOf(body.info.features ?? {}).filter(isUsed));
    const requesterNow = async () => ({
      agent: await agentOf(request, deps, body.token),
      features,
    });
    const job = await heldPoll(deps, request, { agent, features, requesterNow });
    if (job === undefined) return none();
    return { body: JSON.stringify(job), type: "application/json", status: 201 };
  },
});

/** The text is opaque to the agent; one that has it waits for the answer to its next request as well. */
const none = (): StreamReply => ({
  body: "",
  type: "application/json",
  status: 204,
  headers: { "X-GitLab-Last-Update": "waiting" },
});

/** What else an agent says it can do makes it no agent of another kind. */
const isUsed = (feature: string): boolean =>
  feature === cancelsGracefully || neededFeatures.has(feature);
const cancelsGracefully = "cancel_gracefully";

/** As long as the agents that are known pause between two requests. */
const letGoMs = 3_000;

type Requester = Readonly<{ agent: AgentRow; features: ReadonlySet<string> }>;

type Holding = Readonly<{
  waiting: ReturnType<typeof waitingFor>;
  held: HeldRequest;
  /** The agent as it was when its request came. */
  first: Requester;
  requesterNow: () => Promise<Requester>;
}>;

async function heldPoll(
  deps: Deps,
  request: RequestContext,
  { requesterNow, ...requester }: Requester & Readonly<{ requesterNow: () => Promise<Requester> }>,
): Promise<JobAnswer | undefined> {
  const waiting = waitingFor(deps.onChange);
  const held = waiting.hold(requester.agent.id);
  try {
    const job = await nextWhileHeld(deps, request, {
      waiting,
      held,
      requesterNow,
      first: requester,
    });
    if (job !== undefined || !held.over.aborted) return job;
  } finally {
    held.release();
  }
  // An agent with too many requests repeats each at once when it has the answer.
  await delay(letGoMs, undefined, { signal: request.signal }).catch(() => undefined);
  return undefined;
}

async function nextWhileHeld(
  deps: Deps,
  request: RequestContext,
  { waiting, held, requesterNow, first }: Holding,
): Promise<JobAnswer | undefined> {
  let kind = kindOf(first);
  const over = AbortSignal.any([request.signal, held.over, timeoutSignal(holdMsDefault)]);
  const by = { caller: ownerOf(first.agent), signal: over };
  for (let looks = 0; !over.aborted && !waiting.ended(); looks += 1) {
    const seen = waiting.seen();
    const look = async () => {
      const mustLook = held.takeChange() || looks === 0;
      // Agents wake together: what one of a kind has looked for in vain, the others need not look for.
      if (!mustLook && waiting.foundNothing(kind)) return undefined;
      // The agent may have been changed, paused or removed while its request was held.
      const now = await requesterNow();
      if (!now.agent.active) return "inactive";
      kind = kindOf(now);
      const before = waiting.seen();
      const next = await nextJob(deps, now, waiting.noteFreed);
      if (next === "none") waiting.noteNothing(kind, before);
      return next === "none" ? undefined : next;
    };
    // Nothing is claimed for an agent that has gone.
    const job = await waiting.look.run(look, by).catch((error: unknown) => {
      if (over.aborted) return undefined;
      throw error;
    });
    if (job === "inactive") return undefined;
    if (job !== undefined) return job;
    await waiting.next(seen, held, over);
  }
  return undefined;
}

/** Agents of one owner share the looks into the queue. */
const ownerOf = ({ id, owner_id }: AgentRow): string => owner_id ?? id;

/** Agents of one kind may take the same jobs; see projectIdsOf. */
function kindOf({ agent, features }: Requester): string {
  const { owner_type, owner_id, tags, run_untagged } = agent;
  const more = [agent.protected, [...tags].sort(), [...features].sort()];
  return JSON.stringify([owner_type, owner_id, run_untagged, ...more]);
}

/** Claims a job that fits and puts together what the agent needs to run it. */
async function nextJob(
  deps: Deps,
  { agent, features }: Requester,
  freed: () => void,
): Promise<JobAnswer | "none" | undefined> {
  const token = newToken(tokenPrefixes.job);
  const tokenHash = hashToken(token);
  const projectIds = await projectIdsOf(deps.db, agent);
  const filter = {
    tags: agent.tags,
    runUntagged: agent.run_untagged,
    ...(projectIds && { projectIds }),
  };
  const mayTake = async (queued: QueuedJob): Promise<boolean> => {
    if (featuresNeeded(queued.spec).some((name) => !features.has(name))) return false;
    return !agent.protected || isOfProtectedRef(deps, queued);
  };
  const by = { agentId: agent.id, tokenHash };
  const claimed = await claimNextJob(deps, { ...by, freed, filter, mayTake });
  if (claimed === undefined) return "none";
  return begun(deps, { agent, features }, { ...claimed, token });
}

async function isOfProtectedRef(
  { db }: Pick<Deps, "db">,
  { job, ref, isTag, mergeRequest }: QueuedJob,
): Promise<boolean> {
  const project = await findProjectById(db, job.project_id);
  if (project === undefined) return false;
  return isProtectedRef({ db }, project, { ref, isTag, mergeRequest });
}

type Begun = ClaimedJob & Readonly<{ token: string }>;

/**
 * Begins the run of a claimed job. Undefined in two cases: its pipeline is gone, and the claim is returned after 30 s;
 * or one of its secrets cannot be opened, and the job fails.
 */
async function begun(
  deps: Deps,
  { agent, features }: Requester,
  { job, position, token, spec, hasArtifacts }: Begun,
): Promise<JobAnswer | undefined> {
  const run = {
    job_id: job.id,
    attempt: job.attempt,
    project_id: job.project_id,
    agent_id: agent.id,
    token_hash: hashToken(token),
    contact_at: job.assigned_at ?? deps.now(),
    cancels_gracefully: features.has(cancelsGracefully),
  };
  const [payload] = await Promise.all([
    jobPayload(deps, job, token, { spec, hasArtifacts }).catch(async (error: unknown) => {
      if (!(error instanceof NotOpened)) throw error;
      deps.log.warn({ err: error, jobId: job.id }, "a job cannot be read");
      return recordUnreadable(deps, { job, run, rules: spec });
    }),
    beginRun(deps.db, { ...run, given_position: position }),
  ]);
  if (payload === undefined) return undefined;
  await keepRun(run.token_hash, token, payload);
  const dependencies = await archives(deps, payload);
  return jobAnswer({ payload, token, agent, dependencies, publicUrl: deps.publicUrl });
}

/** What earlier jobs left for this one, in the order of stages. */
async function archives({ db }: Deps, { dependencies, pipelineNumber }: JobPayload) {
  if (dependencies.length === 0) return [];
  const ids = dependencies.map(({ id }) => id);
  const rows = await artifactsOf(db, ids, "archive");
  const byJob = new Map(rows.map((row) => [row.job_id, row]));
  return dependencies.flatMap(({ id, name, place }) => {
    const row = byJob.get(id);
    const number = jobNumber(BigInt(pipelineNumber), place);
    return row ? [{ number, name, fileName: row.file_name, bytes: Number(row.bytes) }] : [];
  });
}

export const jobRequestRoutes: readonly Route[] = [requestJob];
