import { BlobMissing } from "../../../platform/blob/store.ts";
import type { Deps } from "../deps.ts";
import type { RequestContext } from "../request.ts";
import { requestedPortion } from "./byte-range.ts";

/**
 * Opens what something refers to. Between the read of the reference and the opening another content may take
 * its place, or nothing, and the old one be collected: the reference is then read again.
 *
 * @param find the reference as it is now; throws when there is none
 * @param open of the content it names
 * @throws BlobMissing when it still names what is not there: that is lost
 */
export async function openReferred<Row, Opened>(
  find: () => Promise<Row>,
  open: (row: Row) => Promise<Opened>,
  digestOf: (row: Row) => string,
): Promise<Opened> {
  let row = await find();
  for (;;) {
    try {
      return await open(row);
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
      row = await find();
      if (digestOf(row) === error.digest) throw error;
    }
  }
}

/**
 * The part of such a content that a request selects by Range, and how the answer describes it.
 *
 * @throws HttpRefusal 416 `blob.range_unsatisfiable`; what `find` throws
 */
export function openPortion<Row extends Readonly<{ sha256: string; bytes: number | bigint }>>(
  find: () => Promise<Row>,
  request: Pick<RequestContext, "header">,
  { blobs }: Pick<Deps, "blobs">,
) {
  const open = async (row: Row) => {
    const content = { tag: row.sha256, bytes: Number(row.bytes) };
    const { part, last, bytes } = requestedPortion(request, content);
    const body = await blobs.read(row.sha256, part);
    const reply = { body, bytes, acceptRanges: true, ...(part && { part }) };
    return { row, reply, endsIt: last === content.bytes - 1 };
  };
  return openReferred(find, open, ({ sha256 }) => sha256);
}
