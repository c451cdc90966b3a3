import type { Context } from "koa";

import type { PackageId } from "../../../events/core/ids.ts";
import { packageIdOf, packageVersionIdOf } from "../../../package/core/coordinates.ts";
import type { Image } from "../../../platform/container/link.ts";
import type { RegistryRepositoryRow } from "../../../projections/registry/repository.ts";
import type { Caller } from "../../access/gate.ts";
import type { Answer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import type { Right } from "../package/core/access.ts";
import { deploymentOf, localSources } from "../package/core/source.ts";
import type { ImageName } from "./name.ts";

/** One request about an image, by a caller who has the call's right. */
export type ContainerRequest = Readonly<{
  ctx: Context;
  name: ImageName;
  /** Named groups of the call's path. */
  params: Readonly<Record<string, string>>;
  repository: RegistryRepositoryRow;
  caller: Caller;
  request: RequestContext;
  /** Checks the caller's right again: an upload takes long. @throws Refusal, HttpRefusal */
  mustStill: () => Promise<void>;
  /** Whether the caller may read another image, and in which repository it is. */
  readable: (name: ImageName) => Promise<RegistryRepositoryRow | undefined>;
}>;

export type ContainerCall = Readonly<{
  method: "GET" | "PUT" | "POST" | "PATCH" | "DELETE";
  /** Of what follows the image's name. */
  path: RegExp;
  right: Right;
  /** In the log and the metrics. */
  operationId: string;
  handle: (request: ContainerRequest, deps: Deps) => Promise<Answer>;
}>;

/** A parameter of the query; the first one where it comes several times. */
export const queryParam = ({ query }: Pick<Context, "query">, name: string): string | undefined =>
  [query[name] ?? []].flat()[0];

export const imagePackageName = (image: string) => ({
  name: image,
  groupId: "",
  artifactId: image,
  key: image,
});

export const imageIdOf = (registryId: string, image: string): PackageId =>
  packageIdOf(registryId, "container", imagePackageName(image));

/** A manifest is a version of the image's package. */
export const manifestIdOf = (packageId: PackageId, digest: string) =>
  packageVersionIdOf(packageId, { version: digest, key: digest });

/** The image in the local repositories that the repository is made of, in order. */
export async function imagesOf(
  { repository, name }: Pick<ContainerRequest, "repository" | "name">,
  deps: Pick<Deps, "db">,
): Promise<readonly PackageId[]> {
  const sources = await localSources(repository, deps);
  return sources.map(({ id }) => imageIdOf(id, name.image));
}

/** The image in the repository that takes what is stored. @throws Refusal 405 */
export async function targetOf(
  { repository, name }: Pick<ContainerRequest, "repository" | "name">,
  deps: Pick<Deps, "db">,
): Promise<Readonly<{ target: RegistryRepositoryRow; image: Image; packageId: PackageId }>> {
  const target = await deploymentOf(repository, deps);
  const packageId = imageIdOf(target.id, name.image);
  return { target, packageId, image: { packageId, registryId: target.id } };
}
