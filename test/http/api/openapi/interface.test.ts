import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { z } from "zod";

import { openApi } from "../../../../src/http/api/openapi/openapi.ts";
import { routes } from "../../../../src/http/routes.ts";

/** The documented interface, an endpoint a line; every owner form is spelled out. */
const Endpoint = z.object({
  section: z.string(),
  method: z.string(),
  path: z.string(),
  query: z.array(z.string()),
  success: z.int(),
  list: z.string().nullable(),
  errors: z.array(z.int()),
});
type Endpoint = z.output<typeof Endpoint>;

/** Sections of which nothing is built yet. A section leaves the list with its first route. */
const awaited = new Set<string>([]);

const Operation = z.object({
  parameters: z.array(z.object({ name: z.string(), in: z.string() })),
  responses: z.record(z.string(), z.unknown()),
});
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) });

const file = "test/http/api/openapi/interface.json";
const endpoints = z.array(Endpoint).parse(JSON.parse(await readFile(file, "utf8")));
const { paths } = Document.parse(openApi(routes));
const served = new Map(
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [formOf({ method, path }), operation] as const,
    ),
  ),
);

describe("the documented interface", () => {
  for (const endpoint of endpoints) {
    const { method, path, section } = endpoint;
    const operation = served.get(formOf(endpoint));
    const name = `${method.toUpperCase()} ${path}`;
    if (operation === undefined && awaited.has(section)) continue;
    it(`is served at ${name}`, () => {
      if (operation === undefined) return expect.fail(`${name} is not served`);
      const queries = operation.parameters.filter((parameter) => parameter.in === "query");
      expect(queries.map((parameter) => parameter.name)).to.include.members(endpoint.query);
      const expected = [endpoint.success, ...endpoint.errors].map(String);
      expect(Object.keys(operation.responses)).to.include.members(expected);
      if (endpoint.list !== null) {
        const answer = JSON.stringify(operation.responses[String(endpoint.success)]);
        expect(answer).to.include(`"${endpoint.list}"`);
      }
    });
  }

  it("awaits only sections of which something is not served", () => {
    const missing = endpoints.filter((endpoint) => !served.has(formOf(endpoint)));
    expect(missing.map(({ section }) => section)).to.include.members([...awaited]);
  });
});

/** Parameters may have other names. */
function formOf({ method, path }: Pick<Endpoint, "method" | "path">): string {
  return `${method} ${path.replaceAll(/\{[^}]*\}/g, "{}").replace(/\/$/, "")}`;
}
