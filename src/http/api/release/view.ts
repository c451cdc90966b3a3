import { z } from "zod";

import type { ReleaseFileRow, ReleaseRow } from "../../../projections/release/release.ts";
import type { ResolvedProject } from "../../access/gate.ts";
import type { Deps } from "../../core/deps.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

const ReleaseFileView = z
  .object({
    name: z.string(),
    uuid: z.uuid(),
    link: z.string(),
    size: z.int(),
    hashMd5: z.string(),
    hashSha1: z.string(),
    hashSha256: z.string(),
    hashSha512: z.string(),
  })
  .meta({ id: "ReleaseFile" });

export const ReleaseView = z
  .object({
    id: z.uuid(),
    title: z.string(),
    projectId: z.uuid(),
    authorId: z.uuid().meta({ description: "Who changed it last." }),
    description: z.string(),
    tagName: z.string(),
    commitId: z.string().nullable().meta({ description: "Where its tag stood." }),
    createdAt: instant(),
    updatedAt: instant(),
    attachmentFiles: z.array(ReleaseFileView).nullable().meta({ description: "Null for none." }),
    preRelease: z.boolean(),
  })
  .meta({ id: "Release" });

type Project = ResolvedProject["project"];

export function releaseView(
  row: ReleaseRow,
  project: Project,
  { publicUrl }: Pick<Deps, "publicUrl">,
): z.input<typeof ReleaseView> {
  const base = `${publicUrl}/project/${project.owner_alias}/${project.alias}/release/${row.id}`;
  return toView(ReleaseView, row, {
    description: row.description ?? "",
    attachmentFiles: row.files.length === 0 ? null : row.files.map((file) => fileOf(file, base)),
  });
}

function fileOf(row: ReleaseFileRow, base: string): z.input<typeof ReleaseFileView> {
  return {
    name: row.name,
    uuid: row.id,
    link: `${base}/file/${row.id}`,
    size: Number(row.bytes),
    hashMd5: row.md5,
    hashSha1: row.sha1,
    hashSha256: row.sha256,
    hashSha512: row.sha512,
  };
}
