import type { z } from "zod";

/** `createdAt` as its column is called: `created_at`. */
type Column<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Column<Rest>}`
  : Field;

/** What no column of the row holds as the view has it; what a column holds may be given as well. */
type Others<View extends z.ZodObject, Row> = Partial<z.input<View>> & {
  readonly [Field in keyof z.input<View> as Row extends Readonly<
    Record<Column<Field & string>, z.input<View>[Field]>
  >
    ? never
    : Field]: z.input<View>[Field];
};

/** An answer made of a row: each field of the view is the column of its name, unless `others` says it. */
export function toView<View extends z.ZodObject, Row extends object>(
  view: View,
  row: Row,
  others: Others<View, Row>,
): z.input<View> {
  const columns = new Map<string, unknown>(Object.entries(row));
  const fields = Object.keys(view.shape).flatMap((field) => {
    const column = columnOf(field);
    return columns.has(column) ? [[field, columns.get(column)] as const] : [];
  });
  return Object.assign(Object.fromEntries(fields), others) as z.input<View>;
}

const columnOf = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
