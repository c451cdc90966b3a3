import type { Knex } from "knex";
import { z } from "zod";

import { labelNotFound } from "../../../commands/label/label.ts";
import type { ProjectId } from "../../../events/core/ids.ts";
import { type LabelId, normaliseTitle } from "../../../events/label/label.ts";
import { labelsNamed } from "../../../projections/label/label.ts";

const choicesMax = 100;
const textMax = 255;

const Choice = z
  .object({ id: z.string().max(textMax).nullish(), title: z.string().max(textMax).nullish() })
  .refine(({ id, title }) => Boolean(id) || Boolean(title), "A label needs an id or a title.");

/** The labels in the body of an issue or merge request: each by id, or by title in either field. */
export const LabelChoices = z
  .array(Choice)
  .max(choicesMax)
  .meta({ examples: [[]] });
export type LabelChoices = z.output<typeof LabelChoices>;

/**
 * The ids of the chosen labels, each once, in the order of the choices.
 *
 * @throws Refusal 404 `label.not_found`, also for a label of another project
 */
export async function chosenLabels(
  db: Knex,
  projectId: ProjectId,
  choices: LabelChoices,
): Promise<readonly LabelId[]> {
  const names = choices.map(({ id, title }) => id || title || "");
  const chosen = await labelIdsNamed(db, projectId, names);
  if (chosen === undefined) throw labelNotFound();
  return chosen;
}

/** The ids of labels named by id or title, each once, in the order of the names; undefined when one does not exist. */
export async function labelIdsNamed(
  db: Knex,
  projectId: ProjectId,
  names: readonly string[],
): Promise<readonly LabelId[] | undefined> {
  const rows = await labelsNamed(db, projectId, names);
  const byId = new Map(rows.map((row) => [row.id as string, row.id]));
  const byTitle = new Map(rows.map((row) => [row.title_normalised, row.id]));
  const found = names.flatMap(
    (name) => byId.get(name.toLowerCase()) ?? byTitle.get(normaliseTitle(name)) ?? [],
  );
  return found.length < names.length ? undefined : [...new Set(found)];
}
