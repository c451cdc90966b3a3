import { z } from "zod";
import { type Addresses, transportUrls } from "../../../projections/project/address.ts";
import { listProjects, type ProjectRow } from "../../../projections/project/project.ts";
import { findUserNamed } from "../../../projections/user/user.ts";
import { type Route, route } from "../../core/route.ts";
import { toView } from "../../core/view.ts";
import { addresses } from "../project/view.ts";
import { mustBeFound } from "./user.ts";

const ProjectSummary = z
  .object({
    id: z.uuid(),
    title: z.string(),
    description: z.string(),
    alias: z.string(),
    ownerAlias: z.string(),
    httpTransportUrl: z.string(),
    sshTransportUrl: z.string(),
    language: z.string(),
    selectorTitle: z.string(),
    private: z.boolean(),
    selectorOwnerAlias: z.string(),
    selectorId: z.string(),
    selectorAlias: z.string(),
    isDeleted: z.boolean(),
    hexColor: z.string().nullable(),
    selectorColor: z.string().nullable(),
    selectorHash: z.string().nullable(),
  })
  .meta({ id: "ProjectSummary" });

const getUserProjects = route({
  method: "get",
  path: "/user/{userAlias}/projects",
  operationId: "listUserProjects",
  summary: "List a user's public projects",
  tag: "Users",
  scope: "USER_READ",
  access: "user",
  list: "projectList",
  reply: ProjectSummary,
  async handle({ params, page }, deps) {
    const { db } = deps;
    const owner = mustBeFound(await findUserNamed(db, params.userAlias));
    const { rows, total } = await listProjects(db, {
      ownerId: owner.id,
      publicOnly: true,
      ...page,
    });
    const known = await addresses(deps);
    return { items: rows.map((row) => summary(row, known)), totalElements: total };
  },
});

/** The selector fields say the same again, for clients that show projects in a list to choose from. */
function summary(row: ProjectRow, known: Addresses): z.input<typeof ProjectSummary> {
  return toView(ProjectSummary, row, {
    description: row.description ?? "",
    ...transportUrls(row, known),
    language: row.language ?? "",
    selectorTitle: row.title,
    private: row.is_private,
    selectorOwnerAlias: row.owner_alias,
    selectorId: row.id,
    selectorAlias: row.alias,
    isDeleted: false,
    hexColor: null,
    selectorColor: null,
    selectorHash: null,
  });
}

export const userProjectRoutes: readonly Route[] = [getUserProjects];
