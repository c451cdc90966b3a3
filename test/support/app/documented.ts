import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { openApi } from "../../../src/http/api/openapi/openapi.ts";
import { readParams } from "../../../src/http/core/input.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { keptDocument } from "../package/kept-document.ts";

type Media = Readonly<Record<string, Readonly<{ schema: object }>>>;
type Response = Readonly<{ $ref?: string; content?: Media }>;
type Operation = Readonly<{ responses: Readonly<Record<string, Response>> }>;
type Document = Readonly<{
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: Readonly<{ schemas: object; responses: Readonly<Record<string, Response>> }>;
}>;

export type Answered = Readonly<{
  method: string;
  /** With its query. */
  url: string;
  status: number;
  contentType: string;
  text: string;
}>;

/** Once a process, and not before the first answer. */
let known: ReturnType<typeof knowledge> | undefined;

/**
 * Holds an answer of the service against its OpenAPI document: the operation has the status, and the
 * body is what is documented for it. What is no declared operation (git, pages, health) passes.
 *
 * @returns what is wrong
 */
export function undocumented(answered: Answered): string | undefined {
  known ??= knowledge();
  const path = pathOf(answered.url);
  const method = answered.method.toLowerCase();
  const route = path === undefined ? undefined : known.routeAt(method, path);
  if (route === undefined || answered.status >= 500) return undefined;
  const { status, contentType } = answered;
  const response = known.responseOf(route, status);
  const name = `${method.toUpperCase()} ${route.path} answered ${status}`;
  if (response === undefined) return `${name}, which is not documented: ${answered.text}`;
  const [type = ""] = contentType.split(";");
  // Browsers get refusals as pages.
  if (status >= 400 && type === "text/html") return undefined;
  const { content } = response;
  if (content === undefined || answered.text === "") return undefined;
  if (content["*/*"] !== undefined) return undefined;
  if (content[type] === undefined) return `${name} as ${type || "nothing"}`;
  if (!/json$/.test(type) || type.endsWith("ndjson")) return undefined;
  const wrong = known.check(content[type].schema, answered.text);
  return wrong === undefined ? undefined : `${name} against its schema: ${wrong}`;
}

function pathOf(url: string): string | undefined {
  // As it was sent: clients resolve dot segments.
  const path = new URL(url, "http://service").pathname.replace(/^\/rest-api\//, "/");
  return path === "/" ? undefined : path.replace(/\/$/, "");
}

function knowledge() {
  const document = keptDocument(() => openApi(routes)) as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "doc", components: document.components });
  const checks = new Map<string, ValidateFunction>();
  const known = new WeakMap<object, ValidateFunction>();
  const byLength = candidates();

  function compiled(schema: object): ValidateFunction {
    // Refusals of all operations have one schema, which takes longer to compile than to check.
    const key = JSON.stringify(schema);
    const validate = checks.get(key) ?? ajv.compile(inDocument(key));
    checks.set(key, validate);
    known.set(schema, validate);
    return validate;
  }

  return {
    routeAt(method: string, path: string): Route | undefined {
      const segments = path.split("/");
      for (const { route, pattern } of byLength.get(`${method} ${segments.length}`) ?? []) {
        const params = pattern.exec(path)?.groups;
        if (params !== undefined && readParams(route, decoded(params))) return route;
      }
      return undefined;
    },
    responseOf({ path, method }: Route, status: number): Response | undefined {
      const response = document.paths[path]?.[method]?.responses[String(status)];
      const name = response?.$ref?.split("/").at(-1);
      return name === undefined ? response : document.components.responses[name];
    },
    check(schema: object, text: string): string | undefined {
      const validate = known.get(schema) ?? compiled(schema);
      return validate(JSON.parse(text)) ? undefined : ajv.errorsText(validate.errors);
    },
  };
}

const inDocument = (schema: string): object =>
  JSON.parse(schema.replaceAll('"#/components/', '"doc#/components/'));

type Candidate = Readonly<{ route: Route; pattern: RegExp; literals: number }>;

/** By method and number of segments; literal segments before parameters, as the router takes them. */
function candidates(): ReadonlyMap<string, readonly Candidate[]> {
  const all = new Map<string, Candidate[]>();
  for (const route of routes) {
    for (const declared of [route.path, ...(route.alsoAt ?? [])]) {
      const path = declared.replace(/\/$/, "");
      const key = `${route.method} ${path.split("/").length}`;
      const made = { route, pattern: patternOf(path), literals: literalsOf(path) };
      all.set(key, [...(all.get(key) ?? []), made]);
    }
  }
  for (const some of all.values()) some.sort((one, other) => other.literals - one.literals);
  return all;
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{(\w+)\}/);
  const escaped = parts.map((part, index) =>
    index % 2 === 1 ? `(?<${part}>[^/]+)` : part.replaceAll(/[.*+?^$|()[\]\\]/g, "\\$&"),
  );
  return new RegExp(`^(?<all>)${escaped.join("")}$`);
}

/** The earlier a literal segment, the more it counts. */
function literalsOf(path: string): number {
  return path.split("/").reduce((sum, segment) => sum * 2 + (segment.includes("{") ? 0 : 1), 0);
}

function decoded(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { all: _, ...named } = params;
  const entries = Object.entries(named).map(([name, value]) => [name, safely(value)]);
  return Object.fromEntries(entries);
}

function safely(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
