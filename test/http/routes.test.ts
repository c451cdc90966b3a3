import { expect } from "chai";
import { z } from "zod";

import { routes } from "../../src/http/routes.ts";

type Field = Readonly<{ name: string; schema: z.ZodType }>;

const fields = routes.flatMap(({ operationId, params, query, body }) =>
  Object.entries({ params, query, body }).flatMap(([part, schema]) =>
    fieldsOf(`${operationId} ${part}`, schema),
  ),
);

/** The fields of a schema, at any depth. */
function fieldsOf(name: string, schema: unknown): readonly Field[] {
  if (!(schema instanceof z.ZodType)) return [];
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([key, field]) =>
      fieldsOf(`${name}.${key}`, field),
    );
  }
  if (schema instanceof z.ZodArray) return fieldsOf(`${name}[]`, schema.element);
  if (schema instanceof z.ZodIntersection) {
    return [schema.def.left, schema.def.right].flatMap((side) => fieldsOf(name, side));
  }
  return [{ name, schema }, ...inside(schema).flatMap((inner) => compoundsOf(name, inner))];
}

function inside(schema: z.ZodType): readonly unknown[] {
  if (schema instanceof z.ZodUnion) return schema.options;
  if (schema instanceof z.ZodPipe) return [schema.in];
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault;
  return isWrapper ? [schema.unwrap()] : [];
}

/** Fields of a schema that a field consists of; a text is that field itself. */
function compoundsOf(name: string, schema: unknown): readonly Field[] {
  return fieldsOf(name, schema).filter((field) => field.schema !== schema);
}

const takes = ({ schema }: Field, value: string): boolean => schema.safeParse(value).success;
const read = ({ schema }: Field, value: string): unknown => schema.safeParse(value).data;

describe("the declared input", () => {
  it("has ids in lower case, in whatever case they are sent", () => {
    const id = "0b0e6c0a-3c55-4d0c-9c2e-5f6a7b8c9d0e";
    const ids = fields.filter((field) => takes(field, id) && !takes(field, `no-uuid-${id}`));
    expect(ids).to.have.length.above(100);
    const kept = ids.filter((field) => read(field, id.toUpperCase()) !== id);
    expect(kept.map(({ name }) => name)).to.deep.equal([]);
  });

  it("takes a day wherever it takes a time", () => {
    const times = fields.filter(
      (field) => takes(field, "2026-11-26T10:00:00Z") && !takes(field, "yesterday"),
    );
    expect(times).to.have.length.above(5);
    const withoutDays = times.filter((field) => !takes(field, "2026-11-26"));
    expect(withoutDays.map(({ name }) => name)).to.deep.equal([]);
  });
});
