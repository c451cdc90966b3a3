import { buffer } from "node:stream/consumers";

import { fileBytesMax } from "../../platform/pipeline-file/document.ts";
import { readZipFile } from "../../platform/zip/zip-file.ts";
import { artifactsOf } from "../../projections/agent/artifact.ts";
import { jobsWithArtifacts } from "../../projections/pipeline/query.ts";
import type { WorkerDeps } from "../core/deps.ts";

/** Of an archive that is read for one file; GitLab takes 5 MB. */
const archiveBytesMax = 16 * 1024 * 1024;

/**
 * A file among the artifacts of a job, as text. Undefined when there is no such job, archive or file, when the archive
 * is too large to look into, or the file for one of pipelines.
 */
export async function artifactFile(
  { db, blobs }: Pick<WorkerDeps, "db" | "blobs">,
  pipelineId: string,
  { job, path }: Readonly<{ job: string; path: string }>,
): Promise<string | undefined> {
  const jobs = await jobsWithArtifacts(db, pipelineId, { names: [job] });
  const ids = jobs.map(({ id }) => id);
  const [archive] = ids.length === 0 ? [] : await artifactsOf(db, ids, "archive");
  if (archive === undefined || Number(archive.bytes) > archiveBytesMax) return undefined;
  const bytes = await buffer(await blobs.read(archive.sha256));
  return (await readZipFile(bytes, path, fileBytesMax))?.toString("utf8");
}
