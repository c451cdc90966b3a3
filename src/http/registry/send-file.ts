import { findListedFile, type ListedFile } from "../../projections/package/registry.ts";
import { type Answer, type StreamReply, streamAnswer } from "../core/answer.ts";
import type { Deps } from "../core/deps.ts";
import type { RequestContext } from "../core/request.ts";
import { requestedPortion } from "../file/byte-range.ts";
import { openReferred } from "../file/referred-blob.ts";
import { contentTypeOf } from "../file/type.ts";
import { countDownload } from "../package/download-count.ts";
import { fileNotFound } from "../package/request.ts";

/** The first of these files that there is; parts of it when asked by Range. @throws Refusal 404 */
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
): Promise<Readonly<{ row: ListedFile; reply: StreamReply }>> {
  const find = async (): Promise<ListedFile> => {
    for (const id of fileIds) {
      const row = await findListedFile(deps.db, id);
      if (row !== undefined) return row;
    }
    throw fileNotFound();
  };
  const open = async (row: ListedFile) => {
    const portion = requestedPortion(request, { tag: row.sha256, bytes: Number(row.bytes) });
    return { row, ...portion, stream: await deps.blobs.read(row.sha256, portion.part) };
  };
  const { row, part, bytes, last, stream } = await openReferred(find, open, ({ sha256 }) => sha256);
  const endsIt = last === Number(row.bytes) - 1;
  const body = countDownload(stream, { packageVersionId: row.version_id, bytes, endsIt }, deps);
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
