import type { PackageType } from "../../../../events/package/version.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import type { Deps } from "../../../core/deps.ts";
import { receiveAttachedFile } from "../../../core/file/attached.ts";
import { deploymentOf } from "./source.ts";
import { type Inspected, type Received, receive, record, uploadBytesMax } from "./store.ts";
import type { NativeRequest } from "./type.ts";

export type TypeUpload = Readonly<{
  type: PackageType;
  /** What the file is by its own content. @throws Refusal 422 */
  inspect: (file: string, bytes: number) => Promise<Inspected>;
  /** Whether a stored file keeps its content whatever the repository says. */
  isImmutable?: boolean;
  /** See `Upload` of store.ts. */
  mayBeEmpty?: boolean;
  /** Of a form: only its first file counts. */
  ignoresFurther?: boolean;
}>;

/** Stores the one file of a request: its body, or the file of a form under any key. @throws Refusal */
export async function storeUpload(
  { repository, request, mustStill }: NativeRequest,
  { type, inspect, isImmutable, mayBeEmpty, ignoresFurther = false }: TypeUpload,
  deps: Deps,
): Promise<Received & Readonly<{ target: RegistryRepositoryRow }>> {
  const target = await deploymentOf(repository, deps);
  const received = await receiveAttachedFile(request, {
    bytesMax: await uploadBytesMax(target, deps),
    take: (content) => receive(content, { target, inspect, mayBeEmpty }, request, deps),
    anyKey: true,
    ignoresFurther,
    field: () => undefined,
  });
  await record(received, { target, type, isImmutable, mustStill }, request, deps);
  return { ...received, target };
}
