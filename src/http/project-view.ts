import { z } from "zod";

import { OwnerType } from "../events/project.ts";
import type { ProjectRow } from "../projections/project.ts";
import { type Addresses, addressesOf, transportUrls } from "../projections/project-url.ts";
import type { Deps } from "./deps.ts";

export const ProjectView = z
  .object({
    id: z.uuid(),
    title: z.string(),
    description: z.string().nullable(),
    alias: z.string(),
    defaultBranch: z.string(),
    workBranch: z.string(),
    siteUrl: z.string().nullable(),
    language: z.string().nullable(),
    owner: z.object({ alias: z.string(), type: OwnerType }),
    forEducation: z.boolean(),
    forkedFromId: z.string().nullable(),
    mirrorUrl: z.string().nullable(),
    mirrorType: z.enum(["PULL", "PUSH"]).nullable(),
    allowedMemory: z.string().nullable(),
    forkUrl: z.string().nullable(),
    httpTransportUrl: z.string(),
    sshTransportUrl: z.string(),
    topics: z.array(z.string()),
    mirror: z.boolean(),
    private: z.boolean(),
  })
  .meta({ id: "Project" });

export async function addresses({
  publicUrl,
  settings,
}: Pick<Deps, "publicUrl" | "settings">): Promise<Addresses> {
  return addressesOf(publicUrl, await settings());
}

export function presentProject(row: ProjectRow, addresses: Addresses): z.input<typeof ProjectView> {
  return {
    id: row.id,
    title: row.title,
    description: row.description,
    alias: row.alias,
    defaultBranch: row.default_branch,
    workBranch: row.default_branch,
    siteUrl: row.site_url,
    language: row.language,
    owner: { alias: row.owner_alias, type: row.owner_type },
    forEducation: false,
    forkedFromId: row.forked_from_id,
    mirrorUrl: null,
    mirrorType: null,
    allowedMemory: null,
    forkUrl: `${addresses.publicUrl}/project/${row.owner_alias}/${row.alias}/fork`,
    ...transportUrls(row, addresses),
    topics: [...row.topics],
    mirror: false,
    private: row.is_private,
  };
}
