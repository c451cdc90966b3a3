import type { PackageType } from "../../events/package/version.ts";
import type { RegistryRepositoryRow } from "../../projections/registry/repository.ts";
import type { Deps } from "../core/deps.ts";
import { receiveFiles } from "../file/multipart.ts";
import { fileNotFound } from "../package/request.ts";
import { deploymentOf } from "./source.ts";
import { type Inspected, type Received, receive, record, uploadBytesMax } from "./store.ts";
import type { NativeRequest } from "./type.ts";

/** Of a form around its file. */
const formBytesMax = 64 * 1024;

export type TypeUpload = Readonly<{
  type: PackageType;
  /** What the file is by its own content. @throws Refusal 422 */
  inspect: (file: string, bytes: number) => Promise<Inspected>;
  /** Whether a stored file keeps its content whatever the repository says. */
  isImmutable?: boolean;
  /** See `Upload` of store.ts. */
  mayBeEmpty?: boolean;
}>;

/** Stores the one file of a request: its body, or the file of a form under any key. @throws Refusal */
export async function storeUpload(
  { repository, request, mustStill }: NativeRequest,
  { type, inspect, isImmutable, mayBeEmpty }: TypeUpload,
  deps: Deps,
): Promise<Received & Readonly<{ target: RegistryRepositoryRow }>> {
  const target = await deploymentOf(repository, deps);
  const incoming = request.incoming((await uploadBytesMax(target, deps)) + formBytesMax);
  const take = (content: Parameters<typeof receive>[0]) =>
    receive(content, { target, inspect, mayBeEmpty }, request, deps);
  const received = /^multipart\/form-data\b/i.test(incoming.contentType)
    ? await receiveFiles(incoming, {
        key: "file",
        anyKey: true,
        filesMax: 1,
        take: ({ content }) => take(content),
        field: () => undefined,
        undo: ({ blob }) => blob.release(),
      }).then(([first]) => first)
    : await take(incoming.body);
  // A form without a file was refused.
  if (received === undefined) throw fileNotFound();
  await record(received, { target, type, isImmutable, mustStill }, request, deps);
  return { ...received, target };
}
