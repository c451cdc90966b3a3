import type { Knex } from "knex";

import type { UserId } from "../../../events/core/ids.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ProjectScope } from "../../../projections/team/member-role.ts";
import { possibleReaders } from "../../../projections/team/reader.ts";

/** People that a body chooses for a thing of a project. */
export type PeopleChoice = Readonly<{
  project: ProjectScope;
  choices: readonly Readonly<{ id: string }>[];
  /** Chosen already: they may stay also when they cannot read the project any more. */
  present: readonly UserId[];
  /** Refuses a person who cannot read the project. */
  refused: (message: string) => Refusal;
}>;

/**
 * The ids of the chosen people, each once.
 *
 * @throws Refusal 404 `user.not_found`, and the given one
 */
export async function chosenPeople(
  db: Knex,
  { project, choices, present, refused }: PeopleChoice,
): Promise<readonly UserId[]> {
  const ids = [...new Set(choices.map(({ id }) => id.toLowerCase()))];
  const staying = new Map(present.map((id) => [id as string, id]));
  const coming = ids.filter((id) => !staying.has(id));
  const readers = await possibleReaders(db, project, coming);
  return ids.map((id) => {
    const chosen = staying.get(id);
    if (chosen !== undefined) return chosen;
    const reader = readers.get(id);
    if (reader === undefined) throw new Refusal("not_found", "user.not_found", "User not found.");
    if (reader.reads) return reader.id;
    throw refused(`The user ${id} cannot read the project.`);
  });
}
