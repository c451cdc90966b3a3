import { z } from "zod";

import { invariant } from "../../platform/invariant.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Turns zod schemas into JSON Schema (2020-12, the dialect of OpenAPI 3.1). What has an id by
 * `.meta({ id })` becomes a component and is referred to.
 */
export type SchemaWriter = Readonly<{
  write: (schema: z.ZodType, io: Io) => JsonSchema;
  /** The components met so far, by name. */
  components: () => Readonly<Record<string, JsonSchema>>;
}>;

type Io = "input" | "output";
type Component = Readonly<{ schema: JsonSchema; io: Io }>;

export function schemaWriter(): SchemaWriter {
  const components = new Map<string, Component>();
  /** Examples are looked for in all of them after each schema. */
  let sorted: Readonly<Record<string, JsonSchema>> | undefined;

  return {
    write(schema, io) {
      const options = { io, unrepresentable: "any", override: io === "input" ? require : asIs };
      const { $schema: _, $defs, ...root } = z.toJSONSchema(schema, options as Options);
      const definitions = Object.entries(($defs ?? {}) as Readonly<Record<string, JsonSchema>>);
      const names = new Map(
        definitions.map(([id, definition]) => {
          return [id, nameFor(components, id, { schema: tidy(definition), io })];
        }),
      );
      for (const [id, definition] of definitions) {
        const component = { schema: refer(tidy(definition), names), io };
        components.set(names.get(id) ?? id, component);
        sorted = undefined;
      }
      return refer(tidy(root), names);
    },
    components: () => {
      sorted ??= Object.fromEntries(
        [...components]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, { schema }]) => [name, schema]),
      );
      return sorted;
    },
  };
}

type Options = NonNullable<Parameters<typeof z.toJSONSchema>[1]>;
type Overridden = Parameters<NonNullable<Options["override"]>>[0];

const asIs = (): void => undefined;

/** Zod takes what is preprocessed for optional, whatever comes of it. */
function require({ zodSchema, jsonSchema }: Overridden): void {
  if (!(zodSchema instanceof z.ZodObject)) return;
  const fields = Object.entries(zodSchema.shape as Readonly<Record<string, z.ZodType>>);
  const required = fields.filter(([, field]) => !field.safeParse(undefined).success);
  delete jsonSchema.required;
  if (required.length > 0) jsonSchema.required = required.map(([name]) => name);
}

/** What is sent and what is answered may differ under one id (defaults, quoted forms): two names. */
function nameFor(
  components: ReadonlyMap<string, Component>,
  id: string,
  component: Component,
): string {
  const existing = components.get(id);
  if (existing === undefined || text(existing.schema) === text(component.schema)) return id;
  invariant(existing.io !== component.io, `two different schemas have the id ${id}`);
  const other = `${id}${component.io === "input" ? "Input" : "Output"}`;
  const twin = components.get(other);
  const same = twin === undefined || text(twin.schema) === text(component.schema);
  invariant(same, `two different schemas have the id ${id}`);
  return other;
}

/** Compared without what references are called. */
function text(schema: JsonSchema): string {
  return JSON.stringify(schema, (key, value) => (key === "$ref" ? "" : value));
}

/**
 * Answers may grow: no closed objects. A format says what its long pattern says. `.meta({ example })`
 * becomes an example also where zod drops `examples`, in what is sent and then transformed.
 */
function tidy(value: JsonSchema): JsonSchema {
  return map(value, (schema) => {
    const noise = (key: string, child: unknown) =>
      (key === "additionalProperties" && child === false) ||
      (key === "pattern" && schema["format"] !== undefined) ||
      (/^(?:min|max)imum$/.test(key) && Math.abs(Number(child)) === Number.MAX_SAFE_INTEGER);
    const { example, ...kept } = Object.fromEntries(
      Object.entries(schema).filter(([key, child]) => !noise(key, child)),
    );
    return example === undefined ? kept : { ...kept, examples: [example] };
  });
}

function refer(value: JsonSchema, names: ReadonlyMap<string, string>): JsonSchema {
  return map(value, (schema) => {
    const ref = schema["$ref"];
    if (typeof ref !== "string") return schema;
    const id = ref.replace("#/$defs/", "");
    return { ...schema, $ref: `#/components/schemas/${names.get(id) ?? id}` };
  });
}

/** Keywords whose value is a schema, an array of schemas, or schemas by name. */
const schemaKeywords = new Set(["items", "additionalProperties", "propertyNames", "not"]);
const arrayKeywords = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const namedKeywords = new Set(["properties", "patternProperties"]);

/** Applies the change to every schema inside, outermost first, and to nothing that is not one. */
function map(value: JsonSchema, change: (schema: JsonSchema) => JsonSchema): JsonSchema {
  const deeper = (child: unknown) => (isSchema(child) ? map(child, change) : child);
  const entries = Object.entries(change(value)).map(([key, child]) => {
    if (schemaKeywords.has(key)) return [key, deeper(child)];
    if (arrayKeywords.has(key) && Array.isArray(child)) return [key, child.map(deeper)];
    if (!namedKeywords.has(key) || !isSchema(child)) return [key, child];
    const named = Object.entries(child).map(([name, inner]) => [name, deeper(inner)]);
    return [key, Object.fromEntries(named)];
  });
  return Object.fromEntries(entries);
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
