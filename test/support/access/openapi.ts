import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

import { openApi } from "../../../src/http/api/openapi/openapi.ts";
import { routes } from "../../../src/http/routes.ts";
import { chosen, type Extent } from "./sample.ts";

export type Json = Readonly<Record<string, unknown>>;
type Parameter = Readonly<{
  name: string;
  in: string;
  required: boolean;
  schema: Json;
  example: unknown;
}>;
type Media = Readonly<{ schema: Json; example: unknown }>;
type Content = Readonly<Record<string, Media>>;
export type Operation = Readonly<{
  operationId: string;
  summary: string;
  tags: readonly string[];
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters: readonly Parameter[];
  requestBody?: Readonly<{ required: boolean; content: Content }>;
  responses: Readonly<Record<string, Readonly<{ $ref?: string; content?: Content }>>>;
}>;
export type Document = Json &
  Readonly<{
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    components: Readonly<{
      schemas: Json;
      responses: Readonly<Record<string, { content: Content }>>;
    }>;
  }>;

export const document = openApi(routes) as Document;
export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

type Named = (typeof operations)[number];

/** In a sample: one of each tag and method. */
const kindOf = ({ method, operation }: Named): string => `${operation.tags.join()} ${method}`;

/** Examples of operations that do not fit their schemas, by name and with what is wrong. */
export function wrongExamples(extent: Extent): readonly string[] {
  const validator = schemaValidator();
  return chosen(extent, operations, kindOf).flatMap(({ method, path, operation }) => {
    const contents = [operation.requestBody, ...Object.values(operation.responses)];
    const media = contents
      .flatMap((one) => Object.values(one?.content ?? {}))
      .filter(({ example }) => example !== undefined);
    const parameters = operation.parameters.filter((each) => each.in === "path");
    return [...media, ...parameters].flatMap(({ schema, example }) => {
      const wrong = validator(schema, example);
      return wrong === null ? [] : [`${method} ${path}: ${wrong}`];
    });
  });
}

/** Checks a value against a schema of the document; null when it fits, otherwise what is wrong. */
export function schemaValidator(): (schema: Json, value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "doc", components: document.components });
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"doc#/components/');
    return ajv.validate(JSON.parse(text), value) ? null : ajv.errorsText();
  };
}
