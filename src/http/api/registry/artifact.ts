import { z } from "zod";
import { RegistryRepositoryId } from "../../../events/core/ids.ts";
import type { PackageType } from "../../../events/package/version.ts";
import { condaNames, condaSubdir } from "../../../package/conda/format.ts";
import { packageFileIdOf, packageVersionIdOf } from "../../../package/core/coordinates.ts";
import { readConda } from "../../../package/file-reader.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Deps } from "../../core/deps.ts";
import { receiveAttachedFile } from "../../core/file/attached.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { crateFileIds } from "../../protocol/package/cargo/routes.ts";
import { isOpenRepository } from "../../protocol/package/core/access.ts";
import { openFile } from "../../protocol/package/core/send-file.ts";
import { deploymentOf, packageIdsFor } from "../../protocol/package/core/source.ts";
import { receive, record, uploadBytesMax } from "../../protocol/package/core/store.ts";
import { mustPresentVersion } from "../package/package.ts";
import { orNotFound, packageParameters } from "../package/request.ts";
import { PackageVersionView } from "../package/view.ts";
import { type RegistryScope, registryScopes } from "./owner.ts";
import { anonymously, mustFindRepository } from "./repository.ts";

const tag = "Registry repositories";
const { packageName, packageVersion, fileName } = packageParameters;
const platform = packageName.meta({ examples: ["linux-64"] });
const condaFile = fileName.meta({ examples: ["numpy-2.1.0-py312_0.conda"] });
const pathLengthMax = 1_024;

const repositoryUuid = RegistryRepositoryId;

const scopes = { Project: "project", Company: "company", Instance: "instance" } as const;

/** Of a download: whether the repository is open to everybody. */
const openAt = ({ noun }: RegistryScope) => ({
  isOpen: (params: Readonly<Record<string, unknown>>, deps: Deps): Promise<boolean> => {
    const { repositoryUuid: id, ...texts } = params as Readonly<Record<string, string>>;
    return isOpenRepository({ scope: scopes[noun], params: texts }, id ?? "", deps);
  },
});

function routesAt(scope: RegistryScope): readonly Route[] {
  const { noun, read, write } = scope;
  const downloading = {
    ...anonymously(scope),
    ...openAt(scope),
    method: "get",
    tag,
    scope: "READ_REGISTRY",
    access: read,
    reply: "stream",
  } as const;
  return [
    route({
      method: "put",
      path: `${scope.path}/{repositoryUuid}/conda/{fileName}`,
      operationId: `store${noun}CondaPackage`,
      summary: "Store a package of conda",
      description: "A virtual repository stores it in its default repository for deployment.",
      tag,
      scope: "WRITE_REGISTRY",
      access: write,
      params: z.object({ repositoryUuid, fileName: condaFile }),
      query: z.object({
        nodePath: z.string().max(pathLengthMax).optional().meta({
          description: "The folder of the platform, or the whole path with the file's name.",
        }),
      }),
      attachment: true,
      reply: PackageVersionView,
      errors: [405, 409],
      handle: ({ params: given, query, request }, deps) =>
        storeConda({ ...given, nodePath: query.nodePath }, request, deps),
    }),
    route({
      ...downloading,
      path: `${scope.path}/{repositoryUuid}/conda/{platform}/{fileName}`,
      operationId: `download${noun}CondaPackage`,
      summary: "Download a package of conda",
      params: z.object({ repositoryUuid, platform, fileName: condaFile }),
      async handle({ params: given, request }, deps) {
        const repository = await mustFindOfType(given.repositoryUuid, "conda", request, deps);
        const named = orNotFound(() => condaNames(given.platform, given.fileName));
        const of = { type: "conda", name: named.packageName } as const;
        const ids = await packageIdsFor(repository, of, deps);
        const fileIds = ids.map((id) =>
          packageFileIdOf(packageVersionIdOf(id, named.version), named.fileName),
        );
        return (await openFile(fileIds, request, deps)).reply;
      },
    }),
    route({
      ...downloading,
      path: `${scope.path}/{repositoryUuid}/cargo/{packageName}/{packageVersion}`,
      operationId: `download${noun}Crate`,
      summary: "Download a crate",
      params: z.object({ repositoryUuid, packageName, packageVersion }),
      async handle({ params: given, request }, deps) {
        const repository = await mustFindOfType(given.repositoryUuid, "cargo", request, deps);
        const of = { name: given.packageName, version: given.packageVersion };
        return (await openFile(await crateFileIds(of, repository, deps), request, deps)).reply;
      },
    }),
  ];
}

export const registryArtifactRoutes: readonly Route[] = registryScopes.flatMap(routesAt);

/** @throws Refusal 404, also for a repository of another type */
async function mustFindOfType(id: string, type: PackageType, request: RequestContext, deps: Deps) {
  const repository = await mustFindRepository(id, request, deps);
  if (repository.package_type === type) return repository;
  const message = `The repository has packages of type ${repository.package_type}, not ${type}.`;
  throw new Refusal("not_found", "registry_repository.not_found", message);
}

type CondaUpload = Readonly<{
  repositoryUuid: string;
  fileName: string;
  nodePath: string | undefined;
}>;

async function storeConda(upload: CondaUpload, request: RequestContext, deps: Deps) {
  const { fileName: name } = upload;
  const repository = await mustFindOfType(upload.repositoryUuid, "conda", request, deps);
  const target = await deploymentOf(repository, deps);
  const subdir = subdirIn(upload);
  condaNames(subdir ?? "noarch", name);
  const inspect = (file: string) => readConda(file, { fileName: name, subdir });
  const received = await receiveAttachedFile(request, {
    bytesMax: await uploadBytesMax(target, deps),
    take: (content) => receive(content, { target, inspect }, request, deps),
  });
  const mustStill = async (): Promise<void> => undefined;
  const recording = { target, type: "conda", uploadType: "API", mustStill } as const;
  const { packageVersionId } = await record(received, recording, request, deps);
  return mustPresentVersion(packageVersionId, "conda", deps);
}

/** The last folder of the path is the platform. @throws Refusal 422 */
function subdirIn({ nodePath = "", fileName: name }: CondaUpload): string | undefined {
  const parts = nodePath.split("/").filter((part) => part !== "");
  const folders = parts.at(-1) === name ? parts.slice(0, -1) : parts;
  const last = folders.at(-1);
  return last === undefined ? undefined : condaSubdir(last);
}
