import { defined } from "../../../commands/core/defined.ts";
import type { ChangedSettings } from "../../../commands/registry/repository.ts";
import type { RegistryRepositoryId } from "../../../events/core/ids.ts";
import type { Sealed } from "../../../events/core/sealed.ts";
import type { PackageType } from "../../../events/package/version.ts";
import { projectSubject } from "../../../events/project/project.ts";
import {
  type LocalSettings,
  type ProxySettings,
  type RegistryOwner,
  type RepositorySettings,
  registryRepositoryStream,
  type VirtualSettings,
} from "../../../events/registry/repository.ts";
import type { Deps } from "../../core/deps.ts";
import { checkedUrl, invalid } from "../../core/schema.ts";
import { mustBeMembers } from "../../protocol/package/core/member.ts";
import type {
  ChangedRepository,
  LocalBody,
  NewRepository,
  ProxyBody,
  VirtualBody,
} from "./body.ts";

/** What validating the settings needs beside the body. */
export type About = Readonly<{
  repositoryId: RegistryRepositoryId;
  owner: RegistryOwner;
  packageType: PackageType;
}>;

const metadataSecondsDefault = 7_200;

/** Ecosystems whose registries can be stood in for. */
const proxied: ReadonlySet<PackageType> = new Set(["maven", "npm", "pypi", "nuget", "container"]);

const localDefaults: LocalSettings = {
  type: "LOCAL",
  hasAnonymousAccess: false,
  isDeletePackageAllowed: false,
  packageReuploadType: "OVERRIDE",
};
const proxyDefaults: Omit<ProxySettings, "url"> = {
  type: "PROXY",
  username: null,
  token: null,
  isCaching: false,
  isOffline: false,
  expireHours: 0,
  metadataRetrievalIntervalSeconds: metadataSecondsDefault,
};
const virtualDefaults: VirtualSettings = {
  type: "VIRTUAL",
  includedRepositoryIds: [],
  allowRemoteProxying: false,
  deploymentRepositoryId: null,
};

/** A part of an image's name, OCI distribution-spec, "Pulling manifests"; clients write it in lower case. */
const imageNamePart = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/i;

/** Clients cannot name images in a repository whose name is no part of an image's name. @throws Refusal 422 */
export function mustBeNamable({ packageType, repositoryName }: NewRepository): void {
  if (packageType !== "container" || imageNamePart.test(repositoryName)) return;
  const message =
    "Images cannot be named by it: use letters and digits, parted by one of . _ __ or dashes.";
  throw invalid([{ field: "repositoryName", code: "error.field.value", message }]);
}

/** @throws Refusal 422 */
export async function settingsOf(
  body: NewRepository,
  about: About,
  deps: Deps,
): Promise<RepositorySettings> {
  switch (body.type) {
    case "LOCAL":
      return { ...localDefaults, ...localChange(body.settings ?? {}) };
    case "PROXY": {
      if (!proxied.has(body.packageType)) throw notProxied(body.packageType);
      const { url, ...rest } = await proxyChange(body.proxySettings ?? {}, about, deps);
      if (url === undefined) throw urlMissing();
      return { ...proxyDefaults, ...rest, url };
    }
    default:
      return {
        ...virtualDefaults,
        ...(await virtualChange(body.virtualSettings ?? {}, about, deps)),
      };
  }
}

/** @throws Refusal 422 */
export async function changedSettings(
  body: ChangedRepository,
  about: About,
  deps: Deps,
): Promise<ChangedSettings> {
  switch (body.type) {
    case "LOCAL":
      return { type: "LOCAL", ...localChange(body.settings ?? {}) };
    case "PROXY":
      return { type: "PROXY", ...(await proxyChange(body.proxySettings ?? {}, about, deps)) };
    default:
      return { type: "VIRTUAL", ...(await virtualChange(body.virtualSettings ?? {}, about, deps)) };
  }
}

const localChange = (body: LocalBody): Partial<Omit<LocalSettings, "type">> => defined(body);

async function proxyChange(
  { url, username, token, ...rest }: ProxyBody,
  about: About,
  deps: Deps,
): Promise<Partial<Omit<ProxySettings, "type">>> {
  const sealed = async (text: string | null | undefined): Promise<Sealed | null> =>
    (text ?? "") === "" ? null : deps.vault.seal(subjectOf(about), String(text));
  return {
    ...defined(rest),
    ...(url !== undefined && { url: checkedUrl(deps, "proxySettings.url", url).href }),
    ...(username !== undefined && { username: await sealed(username) }),
    ...(token !== undefined && { token: await sealed(token) }),
  };
}

async function virtualChange(
  body: VirtualBody,
  about: About,
  deps: Deps,
): Promise<Partial<Omit<VirtualSettings, "type">>> {
  const { includedRepositoryUuids: included, deploymentRepositoryUuid: deployment } = body;
  await mustBeMembers(deps.db, { ...about, included: included ?? [], deployment });
  return {
    ...defined({ allowRemoteProxying: body.allowRemoteProxying }),
    ...(included !== undefined && { includedRepositoryIds: included }),
    ...(deployment !== undefined && { deploymentRepositoryId: deployment }),
  };
}

/** Forgotten with the project when it is purged. */
export function subjectOf({
  owner: { ownerType, ownerId },
  repositoryId,
}: Pick<About, "owner" | "repositoryId">): string {
  return ownerType === "PROJECT" ? projectSubject(ownerId) : registryRepositoryStream(repositoryId);
}

function urlMissing() {
  const message = "A proxy needs the URL of the external registry.";
  return invalid([{ field: "proxySettings.url", code: "error.field.empty", message }]);
}

function notProxied(type: string) {
  const message = `There are no proxies for packages of type ${type}.`;
  return invalid([{ field: "packageType", code: "error.field.value", message }]);
}
