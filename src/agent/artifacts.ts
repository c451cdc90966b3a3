import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";

import { unpackZip, writeGzip, writeZip } from "./archive.ts";
import { type Client, mustAnswer, persistently } from "./client.ts";
import { below, findFiles } from "./file-tree.ts";
import type { Job, JobArtifact } from "./job.ts";
import type { LogFile } from "./log-file.ts";

const transferMs = 60 * 60_000;

export type Transfer = Readonly<{
  client: Client;
  job: Job;
  log: LogFile;
  /** Where archives are put together. */
  scratch: string;
  /** The project's directory, here and as the job sees it. */
  root: string;
  seenRoot: string;
  expand: (text: string) => string;
  /** Files that git does not track, as Wanted has them; listed only when an artifact includes them. */
  untracked: () => Promise<ReadonlySet<string>>;
  signal: AbortSignal;
}>;

const ends: Readonly<Record<string, string>> = { zip: ".zip", gzip: ".gz", raw: "" };

/**
 * Sends one artifact to the service; nothing when no file fits.
 *
 * @throws Error when the service refuses it, or files cannot be read
 */
export async function uploadArtifact(artifact: JobArtifact, transfer: Transfer): Promise<void> {
  const { log, root, seenRoot, expand, scratch, untracked, signal } = transfer;
  const paths = artifact.paths.map(expand);
  const also = artifact.untracked ? await untracked() : new Set<string>();
  const wanted = { paths, exclude: artifact.exclude.map(expand), also, seenRoot, signal };
  const { files, refused } = await findFiles(root, wanted);
  for (const each of refused) log.warn(`${each} is outside of the project or malformed.`);
  const plain =
    artifact.artifact_format === "zip" ? files : files.filter(({ kind }) => kind === "file");
  if (plain.length === 0) {
    log.warn(
      `${[...paths, ...(artifact.untracked ? ["untracked"] : [])].join(", ")}: no file fits.`,
    );
    return;
  }
  log.write(`${paths.join(", ") || "untracked"}: found ${plain.length} files and directories\n`);
  const format = artifact.artifact_format || "zip";
  const target = path.join(scratch, `${randomUUID()}.artifact`);
  try {
    if (format === "zip") await writeZip(root, plain, { target, signal });
    else if (format === "gzip") await writeGzip(root, plain, { target, signal });
    else if (plain.length > 1) throw new Error("A raw artifact is one file.");
    const [first] = plain;
    const file = format === "raw" && first !== undefined ? below(root, first.path) : target;
    await send(artifact, { ...transfer, file, format });
  } finally {
    await rm(target, { force: true });
  }
}

async function send(
  artifact: JobArtifact,
  {
    client,
    job,
    log,
    file,
    format,
    expand,
    signal,
  }: Transfer & { file: string | Buffer; format: string },
): Promise<void> {
  const type = artifact.artifact_type || "archive";
  const query = new URLSearchParams({ artifact_type: type, artifact_format: format });
  if (artifact.expire_in !== "") query.set("expire_in", artifact.expire_in);
  const boundary = randomUUID();
  const name =
    expand(artifact.name)
      .replaceAll(/[\\/"\r\n\0]/g, "-")
      .slice(0, 200) || "artifacts";
  const answer = await persistently(
    () =>
      client.send({
        method: "POST",
        path: `/jobs/${job.id}/artifacts?${query}`,
        headers: {
          "job-token": job.token,
          "content-type": `multipart/form-data; boundary=${boundary}`,
        },
        body: formOf(file, `${name}${ends[format] ?? ""}`, boundary),
        timeoutMs: transferMs,
        signal,
      }),
    signal,
  );
  await mustAnswer(answer, 201, "The artifact was not taken");
  await answer.body?.cancel();
  log.write(`Uploaded ${type} as ${name}${ends[format] ?? ""}\n`);
}

/** RFC 7578: one part, named `file`. */
async function* formOf(
  file: string | Buffer,
  name: string,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n` +
      "Content-Type: application/octet-stream\r\n\r\n",
  );
  for await (const chunk of createReadStream(file)) yield chunk as Buffer;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

/**
 * Gets what earlier jobs left, in their order.
 *
 * @throws Error when an archive is gone or cannot be unpacked
 */
export async function downloadArtifacts(transfer: Transfer): Promise<void> {
  const { client, job, log, scratch, root, signal } = transfer;
  for (const { id, token, name, artifacts_file: file } of job.dependencies) {
    if (!file?.filename) continue;
    log.write(`Downloading artifacts for ${name} (${id})...\n`);
    const answer = await persistently(
      () =>
        client.send({
          method: "GET",
          path: `/jobs/${id}/artifacts`,
          headers: { "job-token": token },
          timeoutMs: transferMs,
          signal,
        }),
      signal,
    );
    await mustAnswer(answer, 200, `The artifacts of ${name} cannot be had`);
    const target = path.join(scratch, `${randomUUID()}.download`);
    try {
      // The body of an answer with the status 200 is a stream.
      const body = Readable.fromWeb(answer.body as WebStream<Uint8Array>);
      await pipeline(body, createWriteStream(target, { mode: 0o600 }));
      log.write(`Unpacked ${await unpackZip(target, root, signal)} files and directories\n`);
    } finally {
      await rm(target, { force: true });
    }
  }
}
