import type { RequestContext } from "../request.ts";
import { type FormFile, type FormFiles, receiveFiles, type TakenFile } from "./multipart.ts";

const key = "file";
/** Of a form around its file. */
const overheadBytes = 64 * 1024;

export type Attached<Taken> = Pick<FormFiles<Taken>, "anyKey" | "field" | "ignoresFurther"> &
  Readonly<{
    bytesMax: number;
    /** Reads the file as it comes. */
    take: (content: FormFile["content"]) => Promise<Taken>;
  }>;

/**
 * The one file of a request that declares an attachment: its body, or, in a `multipart/form-data`,
 * what stands under the key `file`.
 *
 * @throws what `receiveFiles` and `take` throw
 */
export async function receiveAttachedFile<Taken extends TakenFile>(
  request: Pick<RequestContext, "incoming">,
  { bytesMax, take, ...keys }: Attached<Taken>,
): Promise<Taken> {
  const incoming = request.incoming(bytesMax + overheadBytes);
  if (!/^multipart\/form-data\b/i.test(incoming.contentType)) return await take(incoming.body);
  const form = { key, filesMax: 1, take: ({ content }: FormFile) => take(content), ...keys };
  const [taken] = await receiveFiles(incoming, form);
  return taken;
}
