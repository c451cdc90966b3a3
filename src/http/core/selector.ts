import { z } from "zod";

/** How lists to choose from show a thing: interfaces draw it by these. */
export const selectorFields = {
  selectorTitle: z.string(),
  selectorId: z.string(),
  selectorOwnerAlias: z.string(),
  selectorAlias: z.string(),
  selectorColor: z.string(),
  selectorHash: z.string(),
  hexColor: z.string().meta({ description: "Of its badge; the same thing always has the same." }),
};

type Selectable = Readonly<{ id: string; title: string; alias: string; owner_alias: string }>;

export function selectorView({ id, title, alias, owner_alias }: Selectable) {
  const hexColor = colorOf(id);
  return {
    selectorTitle: title,
    selectorId: id,
    selectorOwnerAlias: owner_alias,
    selectorAlias: alias,
    selectorColor: hexColor,
    selectorHash: id,
    hexColor,
  };
}

/** Dark enough for white text on it (WCAG AA). */
const palette = [
  "#1f6feb",
  "#8250df",
  "#bf3989",
  "#cf222e",
  "#bc4c00",
  "#7d5a00",
  "#1a7f37",
  "#0b7285",
  "#5f3dc4",
  "#495057",
] as const;

/** Ids are random, so any part of one spreads things over the palette. */
export function colorOf(id: string): string {
  return palette[Number.parseInt(id.slice(0, 8), 16) % palette.length] ?? palette[0];
}

const text = z.string().nullable();

/** How statuses, branches and projects stand in issues and merge requests; unused fields are null. */
export const SelectorObject = z
  .object({
    id: z.string(),
    title: text,
    hash: text,
    alias: text,
    ownerAlias: text,
    color: text,
    hexColor: text,
    icon: text,
    isDeleted: z.boolean(),
  })
  .meta({ id: "SelectorObject" });
export type SelectorObject = z.output<typeof SelectorObject>;

const unused = {
  title: null,
  hash: null,
  alias: null,
  ownerAlias: null,
  color: null,
  hexColor: null,
  icon: null,
  isDeleted: false,
} as const;

/** With null in the fields that are not given. */
export function selectorObject(
  fields: Pick<SelectorObject, "id"> & Partial<SelectorObject>,
): SelectorObject {
  return { ...unused, ...fields };
}
