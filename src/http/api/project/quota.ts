import { z } from "zod";
import { project } from "../../../commands/project/project.ts";
import { findProjectById } from "../../../projections/project/project.ts";
import { allowedBytes } from "../../../projections/project/repository-size.ts";
import { mustBeFound } from "../../access/role-access.ts";
import { stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { int } from "../../core/schema.ts";

const common = {
  path: "/admin/project/{projectUuid}/quota",
  tag: "Administration",
  scope: "USER_WRITE",
  access: "admin",
} as const;

/** Nothing else of the project: the flag of an administrator opens no private project. */
const QuotaView = z
  .object({
    projectId: z.uuid(),
    allowedBytes: z.int().nullable().meta({ description: "Null: there is no limit." }),
    ownBytes: z.int().nullable().meta({ description: "Null: the limit is the instance's." }),
    usedBytes: z.int().meta({ description: "When it was measured last." }),
  })
  .meta({ id: "ProjectQuota" });

const getQuota = route({
  ...common,
  method: "get",
  operationId: "getProjectQuota",
  summary: "Get how large a project is and may be",
  reply: QuotaView,
  handle: ({ params }, deps) => findView(deps, params.projectUuid),
});

const changeQuota = route({
  ...common,
  method: "put",
  operationId: "changeProjectQuota",
  summary: "Change how large a project may be",
  description:
    "Its repository, its LFS objects, its packages with what its proxies keep, files of releases, uploaded files and artifacts of jobs count. What would make it larger is refused; what is there already stays.",
  body: z
    .object({
      allowedBytes: int({ min: 0 }).nullable().meta({
        description: "Null: as large as any project of the instance.",
        example: 1_073_741_824,
      }),
    })
    .meta({ id: "ProjectQuotaChange" }),
  reply: QuotaView,
  async handle({ params: { projectUuid: id }, body: { allowedBytes: bytes }, request }, deps) {
    await findView(deps, id);
    const stamp = stampOf(request, deps);
    const command = { type: "ChangeProjectQuota", allowedBytes: bytes, ...stamp } as const;
    await request.execute(project, id, command);
    return findView(deps, id);
  },
});

async function findView({ db, config }: Deps, id: string) {
  const row = mustBeFound(await findProjectById(db, id), "project");
  return {
    projectId: row.id,
    allowedBytes: allowedBytes(row, config.projectBytesMax),
    ownBytes: row.allowed_bytes === null ? null : Number(row.allowed_bytes),
    usedBytes: Number(row.size_bytes),
  };
}

export const projectQuotaRoutes: readonly Route[] = [changeQuota, getQuota];
