import { expect } from "chai";
import { z } from "zod";

import { Scope } from "../../../../src/events/token/access-token.ts";
import { openApi } from "../../../../src/http/api/openapi/openapi.ts";
import { isSchema } from "../../../../src/http/core/json-schema.ts";
import { route } from "../../../../src/http/core/route.ts";
import { routes } from "../../../../src/http/routes.ts";
import {
  type Document,
  document,
  operations,
  schemaValidator,
  wrongExamples,
} from "../../../support/access/openapi.ts";

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

  it("lets every filter by an enumeration have several values", () => {
    const single = operations.flatMap(({ operation: { operationId, parameters } }) =>
      parameters
        .filter(({ in: place, schema }) => place === "query" && "enum" in (schema as object))
        .map(({ name }) => `${operationId} ${name}`),
    );
    const filters = single.filter((each) => !/ (?:sort|order|format)$/.test(each));
    expect(filters).to.deep.equal([]);
  });

  it("describes every operation", () => {
    const faults = operations.flatMap((each) =>
      faultsOf(each).map((fault) => `${each.method} ${each.path}: ${fault}`),
    );
    expect(faults).to.deep.equal([]);
  });

  it("gives examples of operations that fit their schemas", () => {
    expect(wrongExamples("sample")).to.deep.equal([]);
  });

  it("gives an example of every kind of refusal", () => {
    for (const { content } of Object.values(document.components.responses)) {
      const media = content["application/problem+json"]!;
      expect(validator(media.schema, media.example)).to.equal(null);
    }
  });
});

/** What the description of an operation lacks, or has wrong. */
function faultsOf({ path, operation }: (typeof operations)[number]): readonly string[] {
  const { operationId, summary, tags, parameters, security, responses } = operation;
  const given = parameters.filter((parameter) => parameter.in === "path");
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const same =
    given
      .map(({ name }) => name)
      .sort()
      .join() === named.sort().join();
  const scopes = security.flatMap((scheme) => scheme["token"] ?? []);
  const known: readonly string[] = Scope.options;
  const refused = Object.keys(responses).filter((status) => Number(status) >= 400);
  const rules: Readonly<Record<string, boolean>> = {
    "an operationId of a verb and a noun": /^[a-z]+[A-Z]\w+$/.test(operationId),
    "a summary that begins with a capital and ends without a full stop": /^[A-Z].*[^.]$/.test(
      summary,
    ),
    "one tag": tags.length === 1,
    "the parameters of its path": same,
    "no optional parameter in its path": given.every(({ required }) => required),
    "known scopes": scopes.every((scope) => known.includes(scope)),
    "a refusal 403, as it needs a token": security.length !== 1 || refused.includes("403"),
  };
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [`must have ${rule}`]));
}

describe("a schema in OpenAPI", () => {
  const Thing = z.object({ pattern: z.string(), at: z.iso.datetime() }).meta({ id: "Thing" });
  const declared = { tag: "T", summary: "S", scope: "none", access: "user" } as const;

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
