import type { StreamReply } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { openPortion } from "../../core/file/referred-blob.ts";
import { contentTypeOf } from "../../core/file/type.ts";
import type { RequestContext } from "../../core/request.ts";
import { countDownload } from "./download-count.ts";
import { fileNotFound } from "./request.ts";

type Sent = Readonly<{ version_id: string; name: string; bytes: bigint; sha256: string }>;

/**
 * A file of a version, or the part of it that is requested by Range. The content of a name may change: the entity
 * tag identifies it. A download counts when the last byte of the file is sent.
 *
 * @throws Refusal 404, HttpRefusal 416
 */
export async function openPackageFile<Row extends Sent>(
  find: () => Promise<Row | undefined>,
  request: Pick<RequestContext, "header">,
  deps: Deps,
): Promise<Readonly<{ row: Row; reply: StreamReply }>> {
  const mustFind = async (): Promise<Row> => {
    const row = await find();
    if (row === undefined) throw fileNotFound();
    return row;
  };
  const { row, reply, endsIt } = await openPortion(mustFind, request, deps);
  const { name: fileName, sha256: etag, version_id: packageVersionId } = row;
  const counted = { packageVersionId, bytes: reply.bytes, endsIt };
  const body = countDownload(reply.body, counted, deps);
  return { row, reply: { ...reply, body, type: contentTypeOf(fileName), fileName, etag } };
}
