import type { Knex } from "knex";
import { z } from "zod";

import type { UserId } from "../../events/core/ids.ts";
import { IssueStatus } from "../../events/issue/issue.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { ProjectPlace } from "../../projections/team/member-role.ts";
import { possibleReaders } from "../../projections/team/reader.ts";
import { invalid } from "../core/schema.ts";
import { LabelChoices } from "../label/choice.ts";

/**
 * Length of a description or comment. An edit is one event with the text before and after, and the
 * store takes 1 MiB, also when JSON needs six bytes for each character.
 */
export const textLengthMax = 65_536;
const assigneesMax = 100;

/** People in a body, by id. */
export const UserChoices = z
  .array(z.object({ id: z.uuid().toLowerCase() }))
  .max(assigneesMax)
  .meta({ examples: [[]] });
export type UserChoices = z.output<typeof UserChoices>;

const fields = {
  title: z.string().trim().min(1).max(255),
  description: z
    .string()
    .max(textLengthMax)
    .refine((text) => text.trim() !== "", {
      params: { code: "error.field.empty" },
      error: "Empty",
    }),
  status: z.object({ id: IssueStatus }).nullish(),
  assignedUsers: UserChoices.nullish(),
  labels: LabelChoices.nullish(),
};

export const NewIssue = z.object(fields).meta({ id: "NewIssue" });
export const EditedIssue = z.object(fields).meta({ id: "EditedIssue" });

/**
 * The ids of the chosen people, each once.
 *
 * @param present already assigned: they may stay also when they cannot read the project any more
 * @throws Refusal 404 `user.not_found`; 422 `assignee.no_access` for somebody who cannot read the project
 */
export async function chosenAssignees(
  db: Knex,
  project: ProjectPlace,
  choices: UserChoices,
  present: readonly UserId[] = [],
): Promise<readonly UserId[]> {
  const ids = [...new Set(choices.map(({ id }) => id))];
  const staying = new Map(present.map((id) => [id as string, id]));
  const coming = ids.filter((id) => !staying.has(id));
  const readers = await possibleReaders(db, project, coming);
  return ids.map((id) => {
    const assigned = staying.get(id);
    if (assigned !== undefined) return assigned;
    const reader = readers.get(id);
    if (reader === undefined) throw new Refusal("not_found", "user.not_found", "User not found.");
    if (reader.reads) return reader.id;
    const message = `The user ${id} cannot read the project.`;
    throw invalid([{ field: "assignedUsers", code: "assignee.no_access", message }]);
  });
}
