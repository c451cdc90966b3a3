import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "chai";
import { z } from "zod";

import { Scope } from "../../../src/events/token/access-token.ts";
import { isSchema } from "../../../src/http/core/json-schema.ts";
import { route } from "../../../src/http/core/route.ts";
import { openApi } from "../../../src/http/openapi/openapi.ts";
import { routes } from "../../../src/http/routes.ts";

type Json = Readonly<Record<string, unknown>>;
type Parameter = Readonly<{
  name: string;
  in: string;
  required: boolean;
  schema: Json;
  example: unknown;
}>;
type Media = Readonly<{ schema: Json; example: unknown }>;
type Content = Readonly<Record<string, Media>>;
type Operation = Readonly<{
  operationId: string;
  summary: string;
  tags: readonly string[];
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters: readonly Parameter[];
  requestBody?: Readonly<{ required: boolean; content: Content }>;
  responses: Readonly<Record<string, Readonly<{ $ref?: string; content?: Content }>>>;
}>;
type Document = Json &
  Readonly<{
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    components: Readonly<{
      schemas: Json;
      responses: Readonly<Record<string, { content: Content }>>;
    }>;
  }>;

const document = openApi(routes) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe("the OpenAPI document", () => {
  const validator = schemaValidator();

  it("has every declared operation, at every path but for a slash at its end", () => {
    const documented = operations.map(({ path, method }) => `${method} ${path.replace(/\/$/, "")}`);
    const declared = routes.flatMap(({ path, method, alsoAt = [] }) =>
      [path, ...alsoAt].map((at) => `${method} ${at.replace(/\/$/, "")}`),
    );
    expect(documented.toSorted()).to.deep.equal([...new Set(declared)].sort());
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).to.equal(
      operations.length,
    );
  });

  it("refers only to what it holds", () => {
    const text = JSON.stringify(document);
    expect(text).not.to.contain("$defs");
    for (const [, reference = ""] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = reference
        .split("/")
        .reduce<unknown>((inside, key) => (isSchema(inside) ? inside[key] : undefined), document);
      expect(found, reference).not.to.equal(undefined);
    }
  });

  it("has no two paths that differ only in the names of their parameters", () => {
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, "{}"));
    expect(new Set(shapes).size).to.equal(shapes.length);
  });

  for (const { path, method, operation } of operations) {
    it(`describes ${method} ${path}`, () => {
      expect(operation.operationId).to.match(/^[a-z]+[A-Z]\w+$/);
      expect(operation.summary).to.match(/^[A-Z].*[^.]$/);
      expect(operation.tags).to.have.length(1);
      const given = operation.parameters.filter((parameter) => parameter.in === "path");
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(given.map(({ name }) => name).sort()).to.deep.equal(named.sort());
      expect(given.every(({ required }) => required)).to.equal(true);
      for (const scheme of operation.security) {
        for (const scope of scheme["token"] ?? []) expect(Scope.options).to.include(scope);
      }
      const refused = Object.keys(operation.responses).filter((status) => Number(status) >= 400);
      if (operation.security.length === 1) expect(refused).to.include("403");
    });

    it(`gives examples of ${method} ${path} that fit their schemas`, () => {
      const contents = [operation.requestBody, ...Object.values(operation.responses)];
      for (const media of contents.flatMap((one) => Object.values(one?.content ?? {}))) {
        if (media.example === undefined) continue;
        expect(validator(media.schema, media.example)).to.equal(null);
      }
      for (const { schema, example, in: place } of operation.parameters) {
        if (place === "path") expect(validator(schema, example)).to.equal(null);
      }
    });
  }

  it("gives an example of every kind of refusal", () => {
    for (const { content } of Object.values(document.components.responses)) {
      const media = content["application/problem+json"]!;
      expect(validator(media.schema, media.example)).to.equal(null);
    }
  });
});

/** Checks a value against a schema of the document; null when it fits, otherwise what is wrong. */
function schemaValidator(): (schema: Json, value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "doc", components: document.components });
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"doc#/components/');
    return ajv.validate(JSON.parse(text), value) ? null : ajv.errorsText();
  };
}

describe("a schema in OpenAPI", () => {
  const Thing = z.object({ pattern: z.string(), at: z.iso.datetime() }).meta({ id: "Thing" });
  const declared = { tag: "T", summary: "S", scope: "none", access: "user", errors: [] } as const;

  it("keeps fields that are called like keywords, and is shared by its id", () => {
    const made = openApi([
      route({
        ...declared,
        method: "get",
        path: "/one",
        operationId: "getOne",
        reply: z.object({ thing: Thing, other: Thing.nullable() }),
        handle: async () => ({ thing: { pattern: "", at: "" }, other: null }),
      }),
    ]) as Document;
    expect(made.components.schemas["Thing"]).to.deep.equal({
      type: "object",
      properties: { pattern: { type: "string" }, at: { type: "string", format: "date-time" } },
      required: ["pattern", "at"],
    });
  });

  const make = (path: `/${string}`, schema: z.ZodType, body?: z.ZodType) =>
    route({
      ...declared,
      method: "post",
      path,
      operationId: `make${path.slice(1)}`,
      reply: schema,
      ...(body && { body }),
      handle: async () => ({}),
    });

  it("refuses one id for two things", () => {
    const one = z.object({ a: z.string() }).meta({ id: "Same" });
    const two = z.object({ b: z.string() }).meta({ id: "Same" });
    expect(() => openApi([make("/a", one), make("/b", one)])).not.to.throw();
    expect(() => openApi([make("/a", one), make("/b", two)])).to.throw("have the id Same");
  });

  it("has two names where what is sent differs from what is answered", () => {
    const flag = z.object({ on: z.boolean().default(true) }).meta({ id: "Flag" });
    const { components } = openApi([make("/a", flag, flag)]) as Document;
    expect(Object.keys(components.schemas)).to.include.members(["Flag", "FlagOutput"]);
  });
});
