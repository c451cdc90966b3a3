import type { Readable } from "node:stream";

import { findSentFile, type SentFile } from "../../projections/package/registry.ts";
import { type Answer, type StreamReply, streamAnswer } from "../core/answer.ts";
import type { Deps } from "../core/deps.ts";
import type { RequestContext } from "../core/request.ts";
import { type Portion, requestedPortion } from "../file/byte-range.ts";
import { openReferred } from "../file/referred-blob.ts";
import { contentTypeOf } from "../file/type.ts";
import { countDownload } from "../package/download-count.ts";
import { fileNotFound } from "../package/request.ts";

/** The first of these files that exists; parts of it when requested by Range. @throws Refusal 404 */
export async function sendFile(
  fileIds: readonly string[],
  request: Pick<RequestContext, "header">,
  deps: Deps,
): Promise<Answer> {
  const { row, reply } = await openFile(fileIds, request, deps);
  const answer = streamAnswer(200, reply);
  const { md5, sha1, sha256 } = row;
  const sums = { "X-Checksum-Md5": md5, "X-Checksum-Sha1": sha1, "X-Checksum-Sha256": sha256 };
  return { ...answer, headers: { ...answer.headers, ...sums } };
}

/** The same for a declared route. @throws Refusal 404 */
export async function openFile(
  fileIds: readonly string[],
  request: Pick<RequestContext, "header">,
  deps: Deps,
): Promise<Readonly<{ row: SentFile; reply: StreamReply }>> {
  const find = async (): Promise<SentFile> => {
    const row = fileIds.length === 0 ? undefined : await findSentFile(deps.db, fileIds);
    if (row === undefined) throw fileNotFound();
    return row;
  };
  const open = async (row: SentFile) => {
    const portion = requestedPortion(request, { tag: row.sha256, bytes: Number(row.bytes) });
    return { row, portion, body: await contentOf(row, portion, deps) };
  };
  const { row, portion, body } = await openReferred(find, open, ({ sha256 }) => sha256);
  const { part, bytes } = portion;
  const reply: StreamReply = {
    body,
    type: contentTypeOf(row.name),
    bytes,
    fileName: row.name,
    etag: row.sha256,
    acceptRanges: true,
    ...(part && { part }),
  };
  return { row, reply };
}

/** Counts a download when the last byte of the file is sent. @throws BlobMissing */
async function contentOf(
  { version_id: packageVersionId, sha256, bytes: fileBytes }: SentFile,
  { last, part, bytes }: Portion,
  deps: Deps,
): Promise<Readable> {
  const endsIt = last === Number(fileBytes) - 1;
  const counted = { packageVersionId, bytes, endsIt };
  return countDownload(await deps.blobs.read(sha256, part), counted, deps);
}
