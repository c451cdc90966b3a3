import type { PackageType } from "../../../../events/package/version.ts";
import {
  type PackageName,
  type PackageVersionName,
  packageFileIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { findSentFile, type SentFile } from "../../../../projections/package/registry.ts";
import { openPackageFile } from "../../../api/package/send-file.ts";
import { type Answer, type StreamReply, streamAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import type { RequestContext } from "../../../core/request.ts";
import { packageIdsFor } from "./source.ts";
import type { NativeRequest } from "./type.ts";

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

/** The same for the file of a version, in the local repositories that may have it. */
export async function sendNamed(
  { repository, request }: Pick<NativeRequest, "repository" | "request">,
  type: PackageType,
  { packageName: name, version, fileName }: NamedFile,
  deps: Deps,
): Promise<Answer> {
  const ids = await packageIdsFor(repository, { type, name }, deps);
  const fileIds = ids.map((id) => packageFileIdOf(packageVersionIdOf(id, version), fileName));
  return sendFile(fileIds, request, deps);
}

type NamedFile = Readonly<{
  packageName: PackageName;
  version: PackageVersionName;
  fileName: string;
}>;

/** The same for a declared route. @throws Refusal 404 */
export async function openFile(
  fileIds: readonly string[],
  request: Pick<RequestContext, "header">,
  deps: Deps,
): Promise<Readonly<{ row: SentFile; reply: StreamReply }>> {
  const find = async () =>
    fileIds.length === 0 ? undefined : await findSentFile(deps.db, fileIds);
  return await openPackageFile(find, request, deps);
}
