import { z } from "zod";

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
