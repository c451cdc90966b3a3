import type { Knex } from "knex";
import { z } from "zod";

import { ProjectId, UserId } from "../../events/core/ids.ts";
import type { MergeRequestDetails } from "../../events/merge-request/merge-request.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import { findUsersById } from "../../projections/user/user.ts";
import { bool } from "../core/schema.ts";
import { chosenLabels, LabelChoices } from "../label/choice.ts";

const peopleMax = 100;
/** An event holds the text before and after; stores take 1 MiB as one. */
const descriptionLengthMax = 100_000;

const People = z.array(z.object({ id: UserId })).max(peopleMax);
const Branch = z.object({ id: z.string().min(1).max(255) });
const Project = z.object({ id: ProjectId });
const Title = z.string().trim().min(1).max(255);
const Description = z.string().max(descriptionLengthMax);

const optional = {
  removeSourceBranch: bool().nullish(),
  squashCommit: bool().nullish(),
  workInProgress: bool().nullish(),
  assignedUsers: People.nullish(),
  reviewers: People.nullish(),
  labels: LabelChoices.nullish(),
  sourceProject: Project.nullish(),
  targetProject: Project.nullish(),
};

export const NewMergeRequest = z
  .object({
    title: Title,
    description: Description.nullish().meta({
      description: "The template of the project when not given.",
    }),
    sourceBranch: Branch,
    targetBranch: Branch,
    ...optional,
  })
  .meta({ id: "NewMergeRequest" });
export type NewMergeRequest = z.output<typeof NewMergeRequest>;

const changeable = {
  title: Title.optional(),
  description: Description.nullish(),
  sourceBranch: Branch.nullish().meta({ description: "It cannot change." }),
  targetBranch: Branch.nullish(),
  ...optional,
};
export const MergeRequestChange = z
  .object(changeable)
  .meta({ id: "MergeRequestChange", description: "What is not given stays as it is." });
export const MergeRequestChangeById = z
  .object({ id: z.uuid(), ...changeable })
  .meta({ id: "MergeRequestChangeById", description: "What is not given stays as it is." });
export type MergeRequestChange = z.output<typeof MergeRequestChange>;

/**
 * The given ones of the details, with every person and label checked.
 *
 * @throws Refusal 404 `user.not_found`, `label.not_found`; 422 `user.cannot_read`
 */
export async function detailsIn(
  db: Knex,
  project: ProjectRow,
  body: Partial<NewMergeRequest> | MergeRequestChange,
): Promise<Partial<MergeRequestDetails>> {
  const { assignedUsers, reviewers, labels } = body;
  const details = {
    title: body.title,
    description: body.description ?? undefined,
    removeSourceBranch: body.removeSourceBranch ?? undefined,
    squashCommit: body.squashCommit ?? undefined,
    workInProgress: body.workInProgress ?? undefined,
    assignedUserIds:
      assignedUsers && (await readersIn(db, project, "assignedUsers", assignedUsers)),
    reviewerIds: reviewers && (await readersIn(db, project, "reviewers", reviewers)),
    labelIds: labels && [...(await chosenLabels(db, project.id, labels))],
  };
  const given = Object.entries(details).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return Object.fromEntries(given);
}

/** Each once. @throws Refusal 404 for nobody, 422 for somebody who cannot read the project */
async function readersIn(
  db: Knex,
  project: ProjectRow,
  field: string,
  people: z.output<typeof People>,
): Promise<UserId[]> {
  const ids = [...new Set(people.map(({ id }) => id))];
  const users = await findUsersById(db, ids);
  for (const id of ids) {
    if (!users.has(id)) throw new Refusal("not_found", "user.not_found", "There is no such user.");
    if ((await projectRole(db, project, id)) !== undefined) continue;
    const message = `${users.get(id)?.alias} cannot read the project.`;
    throw new Refusal("unprocessable", "user.cannot_read", message, {
      errors: [{ field, code: "user.cannot_read", message }],
    });
  }
  return ids;
}
