import type { Knex } from "knex";
import { z } from "zod";

import { ProjectId, type UserId, Uuid } from "../../../events/core/ids.ts";
import type { MergeRequestDetails } from "../../../events/merge-request/merge-request.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import type { ProjectRow } from "../../../projections/project/project.ts";
import { bool, fieldRefusal, oneLine, prose } from "../../core/schema.ts";
import { chosenLabels, LabelChoices } from "../label/choice.ts";
import { chosenPeople, type PeopleChoice, PeopleChoices } from "../user/people-choice.ts";

/** An event holds the text before and after; stores take 1 MiB as one. */
const descriptionLengthMax = 100_000;

const Branch = z.object({ id: z.string().min(1).max(255) });
const Project = z.object({ id: ProjectId });
const Title = oneLine(255);
const Description = prose(descriptionLengthMax);

const optional = {
  removeSourceBranch: bool().nullish(),
  squashCommit: bool().nullish(),
  workInProgress: bool().nullish(),
  assignedUsers: PeopleChoices.nullish(),
  reviewers: PeopleChoices.nullish(),
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
  .object({ id: Uuid, ...changeable })
  .meta({ id: "MergeRequestChangeById", description: "What is not given stays as it is." });
export type MergeRequestChange = z.output<typeof MergeRequestChange>;

type Present = Pick<MergeRequestRow, "assigned_user_ids" | "reviewer_ids">;

/**
 * The given ones of the details, with every person and label checked.
 *
 * @param present the request as it is; undefined for a new one
 * @throws Refusal 404 `user.not_found`, `label.not_found`; 422 `user.cannot_read`
 */
export async function detailsIn(
  db: Knex,
  project: ProjectRow,
  body: Partial<NewMergeRequest> | MergeRequestChange,
  present?: Present,
): Promise<Partial<MergeRequestDetails>> {
  const { assignedUsers, reviewers, labels } = body;
  const assigned = { choices: assignedUsers ?? [], present: present?.assigned_user_ids ?? [] };
  const reviewing = { choices: reviewers ?? [], present: present?.reviewer_ids ?? [] };
  const details = {
    title: body.title,
    description: body.description ?? undefined,
    removeSourceBranch: body.removeSourceBranch ?? undefined,
    squashCommit: body.squashCommit ?? undefined,
    workInProgress: body.workInProgress ?? undefined,
    assignedUserIds: assignedUsers && (await readersIn(db, project, "assignedUsers", assigned)),
    reviewerIds: reviewers && (await readersIn(db, project, "reviewers", reviewing)),
    labelIds: labels && [...(await chosenLabels(db, project.id, labels))],
  };
  const given = Object.entries(details).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return Object.fromEntries(given);
}

function readersIn(
  db: Knex,
  project: ProjectRow,
  field: string,
  { choices, present }: Pick<PeopleChoice, "choices" | "present">,
): Promise<readonly UserId[]> {
  const refused = (message: string) => fieldRefusal(field, "user.cannot_read", message);
  return chosenPeople(db, { project, choices, present, refused });
}
