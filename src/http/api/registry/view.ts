import { z } from "zod";

import { PackageType } from "../../../events/package/version.ts";
import { PackageReuploadType } from "../../../events/registry/repository.ts";
import type { RegistryRepositoryRow } from "../../../projections/registry/repository.ts";

const LocalView = z
  .object({
    hasAnonymousAccess: z.boolean(),
    isDeletePackageAllowed: z.boolean(),
    packageReuploadType: PackageReuploadType,
  })
  .meta({ id: "LocalRegistrySettingsView" });

const ProxyView = z
  .object({
    url: z.string(),
    isCaching: z.boolean(),
    isOffline: z.boolean(),
    expireHours: z.int(),
    metadataRetrievalIntervalSeconds: z.int(),
  })
  .meta({ id: "ProxyRegistrySettingsView" });

const VirtualView = z
  .object({
    includedRepositoryUuids: z.array(z.uuid()),
    allowRemoteProxying: z.boolean(),
    deploymentRepositoryUuid: z.uuid().nullable(),
  })
  .meta({ id: "VirtualRegistrySettingsView" });

export const RegistryRepositoryView = z
  .object({
    title: z.string(),
    repositoryType: z.enum(["LOCAL", "PROXY", "LOCAL_CACHE", "VIRTUAL", "TRASH_CAN"]),
    repositoryUuid: z.uuid(),
    packageType: PackageType,
    description: z.string().nullable(),
    settings: LocalView.optional(),
    proxySettings: ProxyView.optional(),
    virtualSettings: VirtualView.optional(),
  })
  .meta({ id: "RegistryRepository" });

export function repositoryView(row: RegistryRepositoryRow): z.input<typeof RegistryRepositoryView> {
  return {
    title: row.name,
    repositoryType: row.settings.type,
    repositoryUuid: row.id,
    packageType: row.package_type,
    description: row.description,
    ...settingsView(row),
  };
}

function settingsView({ settings }: RegistryRepositoryRow) {
  switch (settings.type) {
    case "LOCAL":
      return { settings };
    case "PROXY":
      return { proxySettings: settings };
    default: {
      const { includedRepositoryIds, allowRemoteProxying, deploymentRepositoryId } = settings;
      const virtualSettings = {
        includedRepositoryUuids: includedRepositoryIds,
        allowRemoteProxying,
        deploymentRepositoryUuid: deploymentRepositoryId,
      };
      return { virtualSettings };
    }
  }
}
