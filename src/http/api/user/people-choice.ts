import type { Knex } from "knex";
import { z } from "zod";

import { normaliseAlias, type UserId, Uuid } from "../../../events/core/ids.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ProjectScope } from "../../../projections/team/member-role.ts";
import { possibleReaders } from "../../../projections/team/reader.ts";
import { findUsersByAlias } from "../../../projections/user/user.ts";
import { nameLengthMax } from "../../core/schema.ts";

const peopleMax = 100;

/** People in a body: each by id, or by alias. */
export const PeopleChoices = z
  .array(
    z
      .object({ id: Uuid.nullish(), alias: z.string().max(nameLengthMax).nullish() })
      .refine(
        ({ id, alias }) => Boolean(id) || Boolean(alias),
        "A person needs an id or an alias.",
      ),
  )
  .max(peopleMax)
  .meta({ examples: [[]] });
export type PeopleChoices = z.output<typeof PeopleChoices>;

/** People that a body chooses for a thing of a project. */
export type PeopleChoice = Readonly<{
  project: ProjectScope;
  choices: PeopleChoices;
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
  const ids = [...new Set(await idsOf(db, choices))];
  const staying = new Map(present.map((id) => [id as string, id]));
  const coming = ids.filter((id) => !staying.has(id));
  const readers = await possibleReaders(db, project, coming);
  return ids.map((id) => {
    const chosen = staying.get(id);
    if (chosen !== undefined) return chosen;
    const reader = readers.get(id);
    if (reader === undefined) throw userNotFound();
    if (reader.reads) return reader.id;
    throw refused(`The user ${id} cannot read the project.`);
  });
}

async function idsOf(db: Knex, choices: PeopleChoices): Promise<readonly string[]> {
  const aliases = choices.flatMap(({ id, alias }) => (id || !alias ? [] : [alias]));
  const named = await findUsersByAlias(db, aliases);
  const byAlias = new Map(named.map((row) => [row.alias_normalised, row.id]));
  return choices.map(({ id, alias }) => {
    const chosen = id || byAlias.get(normaliseAlias(alias ?? ""));
    if (chosen === undefined) throw userNotFound();
    return chosen;
  });
}

const userNotFound = () => new Refusal("not_found", "user.not_found", "User not found.");
