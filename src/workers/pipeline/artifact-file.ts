import { fileBytesMax } from "../../pipeline-file/document.ts";
import type { FoundArtifact } from "../../pipeline-file/include.ts";
import { readZipFile, type ZipContent } from "../../platform/zip/zip-file.ts";
import { artifactsOf } from "../../projections/agent/artifact.ts";
import { jobsWithArtifacts } from "../../projections/pipeline/query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

type Wanted = Readonly<{ job: string; path: string }>;

/** A file among the artifacts of a job, as text, if it is not too large for one of pipelines. */
export async function artifactFile(
  { db, blobs }: Pick<WorkerDeps, "db" | "blobs">,
  pipelineId: string,
  { job, path }: Wanted,
): Promise<FoundArtifact> {
  const jobs = await jobsWithArtifacts(db, pipelineId, { names: [job] });
  const ids = jobs.map(({ id }) => id);
  const [archive] = ids.length === 0 ? [] : await artifactsOf(db, ids, "archive");
  if (archive === undefined) return { why: `There are no artifacts of a job ${job}.` };
  const source = {
    bytes: Number(archive.bytes),
    read: (range: Parameters<typeof blobs.read>[1]) => blobs.read(archive.sha256, range),
  };
  const found = await readZipFile(source, path, fileBytesMax);
  if ("content" in found) return { text: found.content.toString("utf8") };
  return { why: reasonOf(found, { job, path }) };
}

function reasonOf(found: Exclude<ZipContent, { content: Buffer }>, { job, path }: Wanted): string {
  const file = `The file ${path} among the artifacts of the job ${job}`;
  switch (found.problem) {
    case "missing":
      return `There is no file ${path} among the artifacts of the job ${job}.`;
    case "link":
      return `${file} is a link.`;
    case "too_large":
      return `${file} has over ${fileBytesMax} bytes.`;
    case "unreadable":
      return `The archive of artifacts of the job ${job} cannot be read: ${found.why}`;
  }
}
