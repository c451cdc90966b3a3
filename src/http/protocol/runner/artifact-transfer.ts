import { z } from "zod";

import { artifact, artifactNotFound } from "../../../commands/agent/artifact.ts";
import type { JobSpec } from "../../../events/pipeline/job-spec.ts";
import { placeOfNumber } from "../../../events/pipeline/number.ts";
import { parseDuration } from "../../../pipeline-file/duration.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { hashToken, isToken } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { bytesOfOthers, findArtifact } from "../../../projections/agent/artifact.ts";
import { findJobByNumber, findJobOfToken } from "../../../projections/agent/job.ts";
import { findJobSpec } from "../../../projections/pipeline/query.ts";
import { findProjectById } from "../../../projections/project/project.ts";
import { dependsOn } from "../../../services/pipeline/job-run.ts";
import type { Deps } from "../../core/deps.ts";
import { receiveFiles } from "../../core/file/multipart.ts";
import { roomForFile, roomOf } from "../../core/file/room.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { badToken } from "./authentication.ts";
import { authenticatedRun, JobNumberParams } from "./job-authentication.ts";
import { confirm } from "./job-record.ts";
import { protocol } from "./protocol.ts";

const path = "/api/v4/jobs/{jobNumber}/artifacts";
const key = "file";
/** Of all artifacts of a job. */
export const artifactBytesMax = 1024 ** 3;
const overheadBytes = 64 * 1024;
const expireSecondsDefault = 30 * 86_400;
const nameBytesMax = 255;

const upload = route({
  ...protocol,
  method: "post",
  path,
  operationId: "uploadJobArtifact",
  summary: "Store an artifact of a job that runs",
  description:
    "Of what the job declares; what is sent a second time takes the place of the first. The time it is " +
    "kept comes from the job, not from the request. At most 1 GiB a job; it counts for the quota of the project.",
  params: JobNumberParams,
  query: z.object({ artifact_type: z.string().max(64).default("archive") }),
  upload: key,
  status: 201,
  reply: z.object({ id: z.uuid(), size: z.int() }).meta({ id: "StoredJobArtifact" }),
  async handle({ params, query, request }, deps) {
    const authenticate = () =>
      authenticatedRun(request, deps, { jobNumber: params.jobNumber, inBody: "" });
    const authenticated = await authenticate();
    await confirm(request, deps, authenticated);
    const { job } = authenticated;
    const declared = (await findJobSpec(deps.db, job.id))?.artifacts ?? null;
    const fileType = declaredType(declared, query.artifact_type);
    const project = await findProjectById(deps.db, job.project_id);
    const others = await bytesOfOthers(deps.db, job.id, fileType);
    const left = Math.max(0, artifactBytesMax - others);
    const bytesMax = await roomForFile(project, left, deps);
    const [stored] = await receiveFiles(request.incoming(artifactBytesMax + overheadBytes), {
      key,
      filesMax: 1,
      take: async ({ fileName, content }) => {
        const name = checkedName(fileName);
        const room = roomOf(request, project, deps);
        const options = { bytesMax, signal: request.signal, room };
        return { name, blob: await deps.blobs.put(content, options) };
      },
    });
    const { name, blob } = stored;
    const { bytes, digests } = blob;
    const artifactId = deterministicId(request.commandId, "job artifact");
    const command = {
      type: "StoreArtifact",
      artifactId,
      jobId: job.id,
      pipelineId: job.pipeline_id,
      projectId: job.project_id,
      fileType,
      file: { name, bytes, ...digests },
      expireAt: expiryOf(declared?.expireIn ?? null, deps.now()),
      at: deps.now().toISOString(),
    } as const;
    try {
      // The run may have ended while the file came, and another have stored its own.
      await authenticate();
      await request.execute(artifact, job.id, command);
    } finally {
      await blob.release();
    }
    return { id: artifactId, size: bytes };
  },
});

/** @throws Refusal 403 for what the job does not declare: the agent gives up at once */
function declaredType(declared: JobSpec["artifacts"], type: string): string {
  const types = declared === null ? [] : ["archive", ...Object.keys(declared.reports)];
  if (types.includes(type)) return type;
  throw new Refusal("forbidden", "artifact.undeclared", "The job declares no such artifact.");
}

/** @throws Refusal 422 for a name that is a path */
function checkedName(name: string): string {
  const isName = /^[^/\\\0]{1,255}$/.test(name) && name !== "." && name !== "..";
  if (isName && Buffer.byteLength(name) <= nameBytesMax) return name;
  throw new Refusal("unprocessable", "artifact.file_name", "The file needs a plain name.");
}

function expiryOf(expireIn: string | null, now: Date): string | null {
  if (expireIn === "never") return null;
  const seconds = expireIn === null ? undefined : parseDuration(expireIn);
  return new Date(now.getTime() + (seconds ?? expireSecondsDefault) * 1_000).toISOString();
}

const download = route({
  ...protocol,
  method: "get",
  path,
  operationId: "downloadJobArtifact",
  summary: "Get the archive of an earlier job, by the token of a job that depends on it",
  params: JobNumberParams,
  reply: "stream",
  errors: [404],
  async handle({ params, request }, deps) {
    const wanted = await dependency(request, deps, params.jobNumber);
    const row = await findArtifact(deps.db, wanted, { file_type: "archive" });
    if (row === undefined) throw artifactNotFound();
    const body = await deps.blobs.read(row.sha256);
    const type = "application/octet-stream";
    return { body, type, bytes: Number(row.bytes), fileName: row.file_name };
  },
});

/**
 * The job of this number, when the running job whose token the request carries depends on it.
 *
 * @throws Refusal 403
 */
async function dependency(
  request: RequestContext,
  { db }: Deps,
  jobNumber: number,
): Promise<string> {
  const token = request.header("job-token");
  const running = isToken(token) ? await findJobOfToken(db, hashToken(token)) : undefined;
  const wanted = await findJobByNumber(db, placeOfNumber(jobNumber));
  const spec = running && (await findJobSpec(db, running.id));
  if (running === undefined || wanted === undefined || spec === undefined) throw badToken();
  if (dependsOn(running, spec, wanted)) return wanted.id;
  throw new Refusal("forbidden", "artifact.no_dependency", "The job does not depend on that one.");
}

export const artifactTransferRoutes: readonly Route[] = [upload, download];
