import { artifactNotFound } from "../../../commands/agent/artifact.ts";
import { withoutTrailing } from "../../../platform/trim.ts";
import { zipStream } from "../../../platform/zip/zip-stream.ts";
import { type NamedArtifact, pipelineArtifacts } from "../../../projections/agent/artifact.ts";
import { type Route, route } from "../../core/route.ts";
import { base, LocalIdParams, mustFindPipeline, reading } from "../pipeline/found.ts";

export const downloadPipelineArtifacts: Route = route({
  ...reading,
  method: "get",
  path: `${base}/pipeline/{localId}/artifacts-download`,
  operationId: "downloadPipelineArtifacts",
  summary: "Download the artifacts of all jobs of a pipeline as one ZIP archive",
  description:
    "Each file lies in a directory named after its job. 404 `artifact.not_found` when no job has an artifact.",
  params: LocalIdParams,
  reply: "stream",
  async handle({ params, request }, deps) {
    const { id } = await mustFindPipeline(deps, request, params.localId);
    const rows = await pipelineArtifacts(deps.db, id);
    if (rows.length === 0) throw artifactNotFound();
    const paths = archivePaths(rows);
    const entries = rows.map((row, index) => ({
      path: paths[index] ?? row.id,
      bytes: Number(row.bytes),
      modifiedAt: row.created_at,
      open: () => deps.blobs.read(row.sha256),
    }));
    const { body, bytes } = await zipStream(entries);
    const fileName = `${request.project.alias}-${params.localId}-artifacts.zip`;
    return { body, bytes, type: "application/zip", fileName };
  },
});

type Named = Pick<NamedArtifact, "job_id" | "job_name" | "file_name">;

/**
 * `<job name>/<file name>` for each, safe to unpack on any system and different from all others: a
 * number is put behind what an earlier one is named, whatever the case of its letters.
 */
export function archivePaths(artifacts: readonly Named[]): readonly string[] {
  const taken = new Map<string, number>();
  const directories = new Map<string, string>();
  return artifacts.map(({ job_id, job_name, file_name }) => {
    const directory = directories.get(job_id) ?? unused(safeName(job_name), taken);
    directories.set(job_id, directory);
    return unused(`${directory}/${safeName(file_name)}`, taken);
  });
}

/** Notes the name that it answers; `taken` holds the last number tried for each name. */
function unused(name: string, taken: Map<string, number>): string {
  const key = name.toLowerCase();
  let free = name;
  for (let number = taken.get(key) ?? 1; taken.has(free.toLowerCase()); number += 1) {
    free = `${name}-${number + 1}`;
    taken.set(key, number + 1);
  }
  taken.set(free.toLowerCase(), 1);
  return free;
}

/** One name, no path: without what Windows refuses in names, and without dots or spaces at the end. */
function safeName(name: string): string {
  const safe = name.replaceAll(/[\p{Cc}\p{Cf}/\\:*?"<>|]/gu, "-");
  const plain = withoutTrailing(safe, ". ");
  return plain === safe ? safe : `${plain}-`;
}
