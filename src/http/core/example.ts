import { invariant } from "../../platform/invariant.ts";
import { isSchema, type JsonSchema } from "./json-schema.ts";

const uuid = "0b0e6c0a-3c55-4d0c-9c2e-5f6a7b8c9d0e";

const byFormat: Readonly<Record<string, string>> = {
  uuid,
  "date-time": "2026-01-02T03:04:05.678Z",
  date: "2026-01-02",
  email: "anna@example.org",
  uri: "https://example.org/",
};

/** Names whose meaning is the same all over the interface. */
const byName: Readonly<Record<string, string>> = {
  alias: "search",
  ownerAlias: "anna",
  projectAlias: "search",
  userAlias: "anna",
  username: "anna",
  branchName: "main",
  defaultBranch: "main",
  hash: "9fceb02d0ae598e95dc970b74767f19372d61af8",
  commitHash: "9fceb02d0ae598e95dc970b74767f19372d61af8",
  commitId: "9fceb02d0ae598e95dc970b74767f19372d61af8",
  email: "anna@example.org",
  password: "correct horse battery",
  passwordConfirm: "correct horse battery",
};

/**
 * A value that fits the schema, the same every time: its own example, else one made from type,
 * format and the field's name.
 */
export function exampleOf(
  schema: JsonSchema,
  components: Readonly<Record<string, JsonSchema>>,
  name = "",
): unknown {
  const ref = schema["$ref"];
  if (typeof ref === "string") {
    const target = components[ref.slice(ref.lastIndexOf("/") + 1)];
    invariant(target !== undefined, `${ref} is a component`);
    return exampleOf(target, components, name);
  }
  const [given] = Array.isArray(schema["examples"]) ? schema["examples"] : [];
  if (given !== undefined) return given;
  if (schema["const"] !== undefined) return schema["const"];
  if (schema["default"] !== undefined) return schema["default"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  const [alternative] = alternatives(schema);
  if (alternative !== undefined) return exampleOf(alternative, components, name);
  return ofType(schema, components, name);
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  const found = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  return Array.isArray(found) ? found.filter(isSchema) : [];
}

function ofType(
  schema: JsonSchema,
  components: Readonly<Record<string, JsonSchema>>,
  name: string,
): unknown {
  const { type, properties, items } = schema;
  switch (Array.isArray(type) ? type[0] : type) {
    case "object": {
      const fields = isSchema(properties) ? Object.entries(properties) : [];
      return Object.fromEntries(
        fields.map(([field, inner]) => [
          field,
          isSchema(inner) ? exampleOf(inner, components, field) : null,
        ]),
      );
    }
    case "array":
      return isSchema(items) && schema["maxItems"] !== 0
        ? [exampleOf(items, components, name)]
        : [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return schema["minimum"] ?? 1;
    case "string":
      return byFormat[String(schema["format"])] ?? byName[name] ?? (name || "text");
    default:
      return null;
  }
}
