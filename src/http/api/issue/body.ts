import type { Knex } from "knex";
import { z } from "zod";

import type { UserId } from "../../../events/core/ids.ts";
import { IssueStatus } from "../../../events/issue/issue.ts";
import type { ProjectScope } from "../../../projections/team/member-role.ts";
import { invalid, oneLine, prose } from "../../core/schema.ts";
import { LabelChoices } from "../label/choice.ts";
import { chosenPeople, PeopleChoices } from "../user/people-choice.ts";

/**
 * Length of a description or comment. An edit is one event with the text before and after, and the
 * store takes 1 MiB, also when JSON needs six bytes for each character.
 */
export const textLengthMax = 65_536;

/** Of an issue or a comment; it is kept as it was typed. */
export const Text = prose(textLengthMax).refine((text) => text.trim() !== "", {
  params: { code: "error.field.empty" },
  error: "Empty",
});

const Title = oneLine(255);

const optional = {
  status: z.object({ id: IssueStatus }).nullish(),
  assignedUsers: PeopleChoices.nullish(),
  labels: LabelChoices.nullish(),
};

export const NewIssue = z
  .object({ title: Title, description: Text, ...optional })
  .meta({ id: "NewIssue" });
export const EditedIssue = z
  .object({ title: Title.optional(), description: Text.optional(), ...optional })
  .meta({ id: "EditedIssue", description: "What is not given stays as it is." });

/**
 * The ids of the chosen people, each once.
 *
 * @param present already assigned: they may stay also when they cannot read the project any more
 * @throws Refusal 404 `user.not_found`; 422 `assignee.no_access` for a user who cannot read the project
 */
export async function chosenAssignees(
  db: Knex,
  project: ProjectScope,
  choices: PeopleChoices,
  present: readonly UserId[] = [],
): Promise<readonly UserId[]> {
  const refused = (message: string) =>
    invalid([{ field: "assignedUsers", code: "assignee.no_access", message }]);
  return chosenPeople(db, { project, choices, present, refused });
}
