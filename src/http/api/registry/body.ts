import { z } from "zod";

import { RegistryRepositoryId } from "../../../events/core/ids.ts";
import { PackageType } from "../../../events/package/version.ts";
import { PackageReuploadType } from "../../../events/registry/repository.ts";
import { bool, int } from "../../core/schema.ts";

const includedMax = 50;
const descriptionLengthMax = 2_000;
const credentialLengthMax = 1_024;
/** A year. */
const intervalSecondsMax = 366 * 24 * 3_600;
const expireHoursMax = 10 * 366 * 24;

/** What the documented kinds are created as; the others come into being by themselves. */
const RepositoryKind = z.enum(["LOCAL", "PROXY", "VIRTUAL"]);

const Description = z.string().trim().max(descriptionLengthMax).nullish();

const RepositoryName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[A-Za-z0-9._-]+$/, "Use letters, digits, dot, underscore and dash.")
  .refine((name) => name !== "." && name !== "..", "It may not be a dot or two.")
  .meta({ examples: ["packages"] });

export const LocalBody = z
  .object({
    hasAnonymousAccess: bool().optional(),
    isDeletePackageAllowed: bool().optional(),
    packageReuploadType: PackageReuploadType.optional().meta({
      description: "NONE: a stored file never gets another content.",
    }),
  })
  .meta({ id: "LocalRegistrySettings" });
export type LocalBody = z.output<typeof LocalBody>;

export const ProxyBody = z
  .object({
    url: z
      .string()
      .min(1)
      .max(2_048)
      .optional()
      .meta({ examples: ["https://registry.npmjs.org/"] }),
    username: z.string().max(credentialLengthMax).nullish(),
    token: z
      .string()
      .max(credentialLengthMax)
      .nullish()
      .meta({ description: "Token or password of the external registry. It is never shown." }),
    isCaching: bool().optional(),
    isOffline: bool().optional(),
    expireHours: int({ min: 0, max: expireHoursMax }).optional(),
    metadataRetrievalIntervalSeconds: int({ min: 0, max: intervalSecondsMax }).optional(),
  })
  .meta({ id: "ProxyRegistrySettings" });
export type ProxyBody = z.output<typeof ProxyBody>;

export const VirtualBody = z
  .object({
    includedRepositoryUuids: z
      .array(RegistryRepositoryId)
      .max(includedMax)
      .optional()
      .meta({ description: "In the order in which they are searched." }),
    allowRemoteProxying: bool().optional(),
    deploymentRepositoryUuid: RegistryRepositoryId.nullish(),
  })
  .meta({ id: "VirtualRegistrySettings" });
export type VirtualBody = z.output<typeof VirtualBody>;

const settingsOfKinds = {
  settings: LocalBody.nullish().meta({ description: "Of a LOCAL repository." }),
  proxySettings: ProxyBody.nullish().meta({ description: "Of a PROXY; a new one needs a url." }),
  virtualSettings: VirtualBody.nullish().meta({ description: "Of a VIRTUAL repository." }),
} as const;

export const NewRepository = z
  .object({
    type: RepositoryKind,
    repositoryName: RepositoryName,
    description: Description,
    packageType: PackageType,
    ...settingsOfKinds,
  })
  .meta({ id: "NewRegistryRepository" });
export type NewRepository = z.output<typeof NewRepository>;

export const ChangedRepository = z
  .object({ type: RepositoryKind, description: Description, ...settingsOfKinds })
  .meta({
    id: "ChangedRegistryRepository",
    description: "What is left out stays as it is. The type is the repository's own.",
  });
export type ChangedRepository = z.output<typeof ChangedRepository>;
