import type { z } from "zod";

import { Refusal } from "../../../platform/refusal.ts";
import { LabelView } from "../../api/label/view.ts";
import { UserView } from "../../api/user/view.ts";
import { invalid } from "../../core/schema.ts";
import { type Html, html } from "../core/html.ts";
import type { Visit } from "../core/route.ts";
import type { Names } from "./address.ts";
import { labelPiece } from "./piece.ts";
import { areaField, boxes, type Sheet, type Typed, textOf } from "./sheet.ts";

type Label = z.output<typeof LabelView>;
type User = z.output<typeof UserView>;

/** So many labels have a box each; titles of others are typed. */
const boxesMax = 100;
const otherLabels = "otherLabels";

/** Labels of the project to choose from. @param present those that the thing has now */
export async function labelField(
  sheet: Sheet,
  names: Names,
  { operations }: Visit,
  present: readonly Label[] = [],
): Promise<Html | undefined> {
  const input = { params: names, page: { number: 0, size: boxesMax } };
  const { items, totalElements } = await operations.list("listLabels", LabelView, input);
  if (totalElements === 0) return undefined;
  const options = items.map((label) => ({ value: label.id, words: labelPiece(label) }));
  const listed = new Set(items.map(({ id }) => id));
  const unlisted = present.filter(({ id }) => !listed.has(id)).map(({ title }) => title);
  const typed = { [otherLabels]: [unlisted.join("\n")], ...sheet.typed };
  return html`${boxes(sheet, { name: "labels", label: "Labels", options })}${
    totalElements > items.length &&
    areaField(
      { ...sheet, typed },
      { name: otherLabels, label: "Other labels, a title a line", rows: 3 },
    )
  }`;
}

/** The chosen labels as operations take them. */
export function labelsIn(typed: Typed) {
  const titles = textOf({ typed }, otherLabels).split("\n");
  const others = titles.map((title) => title.trim()).filter((title) => title !== "");
  return [...(typed["labels"] ?? []).map((id) => ({ id })), ...others.map((title) => ({ title }))];
}

const peopleMax = 100;

export const peopleHint = "Aliases, with commas or spaces between them.";

export const aliasesOf = (people: readonly User[]): string =>
  people.map(({ username }) => username).join(", ");

/**
 * People that a field names by their aliases, as operations take them.
 *
 * @param present those that the thing has now: they stay also when nobody is called so any more
 * @throws Refusal 422 that lists each alias that nobody has
 */
export async function peopleIn(
  typed: Typed,
  field: string,
  { operations }: Visit,
  present: readonly User[] = [],
): Promise<readonly Readonly<{ id: string }>[]> {
  const words = textOf({ typed }, field).split(/[\s,]+/);
  const aliases = [...new Set(words.map((word) => word.replace(/^@/, "")))].filter(Boolean);
  if (aliases.length > peopleMax) {
    throw invalid([{ field, code: "error.field.too_large", message: "At most 100 people." }]);
  }
  const known = new Map(present.map(({ username, id }) => [username, id]));
  const found: Readonly<{ id: string }>[] = [];
  const unknown: string[] = [];
  for (const userAlias of aliases) {
    const id = known.get(userAlias) ?? (await userNamed(userAlias, operations))?.id;
    if (id === undefined) unknown.push(userAlias);
    else found.push({ id });
  }
  if (unknown.length === 0) return found;
  const code = "user.not_found";
  throw invalid(unknown.map((alias) => ({ field, code, message: `There is no user ${alias}.` })));
}

/** The user with this alias or id, if there is one. */
export async function userNamed(
  userAlias: string,
  operations: Visit["operations"],
): Promise<User | undefined> {
  try {
    return await operations.one("getUser", UserView, { params: { userAlias } });
  } catch (error) {
    if (error instanceof Refusal && error.kind === "not_found") return undefined;
    throw error;
  }
}
