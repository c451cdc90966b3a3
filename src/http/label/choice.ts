import type { Knex } from "knex";
import { z } from "zod";

import { labelNotFound } from "../../commands/label/label.ts";
import type { ProjectId } from "../../events/core/ids.ts";
import { type LabelId, normaliseTitle } from "../../events/label/label.ts";
import { labelsNamed } from "../../projections/label/label.ts";

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
  if (choices.length === 0) return [];
  const names = choices.map(({ id, title }) => id || title || "");
  const ids = names.filter((name) => z.uuid().safeParse(name).success);
  const rows = await labelsNamed(db, projectId, { ids, titles: names });
  const byId = new Map(rows.map((row) => [row.id as string, row.id]));
  const byTitle = new Map(rows.map((row) => [row.title_normalised, row.id]));
  const chosen = names.map(
    (name) => byId.get(name.toLowerCase()) ?? byTitle.get(normaliseTitle(name)),
  );
  const found = chosen.filter((id) => id !== undefined);
  if (found.length < chosen.length) throw labelNotFound();
  return [...new Set(found)];
}
