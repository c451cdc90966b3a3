import { z } from "zod";

import { MirrorType } from "../../../events/project/mirror.ts";
import { OwnerType } from "../../../events/project/project.ts";
import { bytesText } from "../../../platform/bytes-text.ts";
import {
  type Addresses,
  addressesOf,
  transportUrls,
} from "../../../projections/project/address.ts";
import type { ProjectRow } from "../../../projections/project/project.ts";
import { allowedBytes } from "../../../projections/project/repository-size.ts";
import type { Deps } from "../../core/deps.ts";
import { toView } from "../../core/view.ts";
import { PendingTransfer } from "../team/pending-transfer.ts";

export const ProjectView = z
  .object({
    id: z.uuid(),
    title: z.string(),
    description: z.string(),
    alias: z.string(),
    defaultBranch: z.string(),
    workBranch: z.string(),
    siteUrl: z.string(),
    language: z.string(),
    owner: z.object({ alias: z.string(), type: OwnerType }),
    forEducation: z.boolean(),
    forkedFromId: z.string().nullable(),
    mirrorUrl: z.string().nullable(),
    pullMirrorUrl: z.string().nullable().meta({ description: "The same, of a PULL mirror alone." }),
    mirrorType: MirrorType.nullable(),
    allowedMemory: z.string().meta({
      description:
        "How large repository and LFS objects may be, for people; empty: there is no limit.",
    }),
    allowedBytes: z.int().nullable(),
    usedBytes: z
      .int()
      .meta({ description: "By repository and LFS objects, when they were measured last." }),
    forkUrl: z.string().nullable(),
    httpTransportUrl: z.string(),
    sshTransportUrl: z.string(),
    topics: z.array(z.string()),
    mirror: z.boolean(),
    private: z.boolean(),
    pendingTransfer: PendingTransfer.optional().meta({
      description: "The open offer, shown to those who may administer it.",
    }),
  })
  .meta({ id: "Project" });

/** What projects are shown by, beside themselves. */
type Surroundings = Addresses & Readonly<{ projectBytesMax: number | null }>;

export async function addresses(
  deps: Pick<Deps, "publicUrl" | "publicSshHost" | "publicSshPort" | "settings" | "config">,
): Promise<Surroundings> {
  const { projectBytesMax } = deps.config;
  return { ...addressesOf(deps, await deps.settings()), projectBytesMax };
}

export function projectView(row: ProjectRow, addresses: Surroundings): z.input<typeof ProjectView> {
  const allowed = allowedBytes(row, addresses.projectBytesMax);
  return toView(ProjectView, row, {
    description: row.description ?? "",
    workBranch: row.default_branch,
    siteUrl: row.site_url ?? "",
    language: row.language ?? "",
    owner: { alias: row.owner_alias, type: row.owner_type },
    forEducation: false,
    pullMirrorUrl: row.mirror_type === "PULL" ? row.mirror_url : null,
    allowedMemory: allowed === null ? "" : bytesText(allowed),
    allowedBytes: allowed,
    usedBytes: Number(row.size_bytes),
    forkUrl: `${addresses.publicUrl}/project/${row.owner_alias}/${row.alias}/fork`,
    ...transportUrls(row, addresses),
    topics: [...row.topics],
    mirror: row.mirror_type !== null,
    private: row.is_private,
  });
}
