import { z } from "zod";

import { Scope } from "../../../events/token/access-token.ts";
import { breather } from "../../../platform/breather.ts";
import { isReader, neededRole } from "../../access/access.ts";
import { AsOfQuery } from "../../core/as-of.ts";
import { problem as problemDocument } from "../../core/errors.ts";
import { exampleOf } from "../../core/example.ts";
import { takesIdempotencyKey } from "../../core/idempotency.ts";
import {
  isSchema,
  type JsonSchema,
  type SchemaWriter,
  schemaWriter,
} from "../../core/json-schema.ts";
import { envelopeOf, pageQuery } from "../../core/paging.ts";
import type { Route } from "../../core/route.ts";

type Json = Readonly<Record<string, unknown>>;

const FieldProblem = z.object({ field: z.string(), code: z.string(), message: z.string() });

const ProblemSchema = z
  .object({
    type: z.string().meta({ examples: ["about:blank"] }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string().meta({
      description: "Stable and dotted; made for programs.",
      examples: ["project.not_found"],
    }),
    message: z.string().meta({ description: "The same as detail." }),
    requestId: z.string(),
    errors: z.array(FieldProblem).min(1).optional().meta({
      description:
        "With every 422: what is wrong, field by field; `field` is empty where it is about no field.",
    }),
  })
  .meta({ id: "Problem", description: "RFC 9457." });

/** Every status of a refusal: what it means, and a code for the example. */
const meanings: Readonly<Record<number, readonly [meaning: string, code: string]>> = {
  400: ["A body that is not JSON, or a step that was taken already.", "body.not_json"],
  401: ["The client is not who it says.", "oauth.invalid_client"],
  403: ["No valid token, or a scope or a role is missing.", "auth.scope_missing"],
  404: ["Nothing there.", "project.not_found"],
  405: ["The thing does not take this method.", "route.method_not_allowed"],
  408: ["The body came too slowly.", "body.too_slow"],
  409: ["In conflict with what is there, or with another request.", "idempotency.in_progress"],
  413: ["The body is too large.", "body.too_large"],
  415: ["The body's encoding is not known.", "body.encoding"],
  416: ["The file has no such part.", "blob.range_unsatisfiable"],
  422: ["Understood, but not possible: `errors` lists why.", "request.invalid"],
  429: ["Over a limit; see Retry-After.", "api.limit_exceeded"],
  503: ["A store or a read model is behind; see Retry-After.", "projection.lagging"],
};

/** The whole interface as an OpenAPI 3.1 document, made from the declarations alone. */
export function openApi(routes: readonly Route[]): Json {
  const { sorted, add, document } = begin(routes);
  for (const place of sorted) add(place);
  return document();
}

/** The same, while a service answers others: the whole takes about a second of processor time. */
export async function openApiInTurns(routes: readonly Route[]): Promise<Json> {
  const { sorted, add, document } = begin(routes);
  const breathe = breather();
  for (const place of sorted) {
    await breathe();
    add(place);
  }
  await breathe();
  return document();
}

function begin(routes: readonly Route[]) {
  const writer = schemaWriter();
  const problem = writer.write(ProblemSchema, "output");
  const paths: Record<string, Record<string, unknown>> = {};
  return {
    sorted: routes
      .flatMap(placesOf)
      .sort((a, b) => compare(a.path, b.path) || compare(a.route.method, b.route.method)),
    add({ route, path, operationId }: Place): void {
      const described = { ...operation(route, writer), operationId };
      paths[path] = { ...paths[path], [route.method]: described };
    },
    document: () => documentOf(routes, { paths, problem, writer }),
  };
}

type Place = Readonly<{ route: Route; path: string; operationId: string }>;

/** Everywhere a route answers. Operations have unique ids, so the further forms of a path get ids of their own. */
function placesOf(route: Route): readonly Place[] {
  const bare = (path: string) => path.replace(/\/$/, "");
  const further = new Set((route.alsoAt ?? []).map(bare));
  further.delete(bare(route.path));
  return [route.path, ...further].map((path, index) => {
    const suffix = index === 0 ? "" : `Also${index === 1 ? "" : index}`;
    return { route, path, operationId: route.operationId + suffix };
  });
}

type Parts = Readonly<{ paths: Json; problem: JsonSchema; writer: SchemaWriter }>;

function documentOf(routes: readonly Route[], { paths, problem, writer }: Parts): Json {
  const tags = [...new Set(routes.map(({ tag }) => tag))].sort();
  return {
    openapi: "3.1.0",
    info: {
      title: "Ledgerforge",
      version: "1",
      description:
        "Git hosting and collaboration that keeps everything that happened as events. " +
        "Every path answers under `/rest-api` as well.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: writer.components(),
      responses: responses(problem),
      headers: {
        RequestId: header("Given by the caller or made; names the request in every log.", "string"),
        TotalCount: header("How many there are in all.", "integer"),
        Link: header("Other pages of the list, as in RFC 8288.", "string"),
        ETag: header("For If-None-Match.", "string"),
      },
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: `An access token: \`Authorization: Bearer lfat_…\`, or \`token\` for
            \`Bearer\`. Scopes: ${Scope.options.join(", ")}; WRITE contains READ.`.replaceAll(
            /\s+/g,
            " ",
          ),
        },
        basic: { type: "http", scheme: "basic", description: "Alias or e-mail, and password." },
        agent: {
          type: "apiKey",
          in: "header",
          name: "Runner-Token",
          description: "Token of an agent; `Job-Token` of a job. The body may hold it instead.",
        },
        job: {
          type: "apiKey",
          in: "header",
          name: "Job-Token",
          description: "Token of a job that runs, in the job's project alone.",
        },
        client: {
          type: "http",
          scheme: "basic",
          description: "Id and secret of an OAuth application; they may be in the body instead.",
        },
      },
    },
  };
}

function operation(route: Route, writer: SchemaWriter): Json {
  const closed = route.notForApplications === true && "Not for tokens of OAuth applications.";
  const open = route.isOpen && "What is open to everybody needs no token.";
  const texts = [route.description, accessText(route), open, closed];
  const description = texts.filter(Boolean).join("\n\n");
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(description === "" ? {} : { description }),
    tags: [route.tag],
    security: security(route),
    parameters: [
      ...parameters(route.params, "path", writer),
      ...parameters(route.query, "query", writer),
      ...(route.list === undefined ? [] : parameters(pageQuery(route.pageSize), "query", writer)),
      ...(route.asOf === undefined ? [] : parameters(AsOfQuery, "query", writer)),
      ...(takesIdempotencyKey(route) ? [idempotencyKey] : []),
    ],
    ...(route.body && { requestBody: requestBody(route, route.body, writer) }),
    ...(route.upload && { requestBody: uploadBody(route.upload) }),
    ...(route.attachment && { requestBody: attachmentBody() }),
    responses: {
      [String(route.status ?? 200)]: success(route, writer),
      ...(route.method === "get" && { 304: { description: "What the caller has is still it." } }),
      ...(route.reply === "stream" && { 206: partial() }),
      ...Object.fromEntries(
        failing(route).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
      ),
      ...ownErrors(route, writer),
      ...otherAnswers(route),
    },
  };
}

/** Every operation may be refused for a bad token, a NUL in its query, a limit, a store that is away. */
const always = [403, 422, 429, 503] as const;

function failing(route: Route): readonly number[] {
  const files = route.upload !== undefined || route.attachment === true;
  const takesBody = route.body !== undefined || files;
  return [
    ...new Set<number>([
      ...always,
      ...(route.errors ?? []),
      // The thing that the path names; agents name it by a token, and a wrong one is 403.
      ...(route.path.includes("{") && route.access !== "agent" ? [404] : []),
      ...(route.asOf === undefined ? [] : [404, 422]),
      // Of repetitions: another request under the key, or the first one still under way.
      ...(route.method === "post" ? [409] : []),
      ...(takesBody ? [400, 408, 413] : []),
      ...(files ? [415] : []),
      ...(route.reply === "stream" ? [416] : []),
    ]),
  ].sort();
}

function otherAnswers({ otherAnswers: texts = {} }: Route): Json {
  return Object.fromEntries(
    Object.entries(texts).map(([status, description]) => [status, { description }]),
  );
}

/** Refusals in the form of a protocol that has its own. */
function ownErrors({ protocolErrors }: Route, writer: SchemaWriter): Json {
  if (protocolErrors === undefined) return {};
  const content = json(protocolErrors.schema, "output", writer);
  return Object.fromEntries(
    protocolErrors.statuses.map((status) => [
      status,
      { description: meanings[status]?.[0] ?? "Refused.", content },
    ]),
  );
}

function partial(): Json {
  const content = { "*/*": { schema: { type: "string", format: "binary" } } };
  return { description: "The part that Range selects.", content };
}

/** The declared access in words. */
function accessText({ access }: Route): string {
  const needed = neededRole(access);
  if (access === "project:READER") {
    return "For everybody who may see the project; a setting opens public ones without a token.";
  }
  if (access === "admin:READER") {
    return "For administrators of the instance; a setting opens it to everybody, without a token.";
  }
  if (access === "user:READER") {
    return "For every user; a setting opens it to everybody, without a token.";
  }
  if (needed?.role === "GUEST") return `For everybody who may see the ${needed.resource}.`;
  if (needed !== undefined) return `Needs the role ${needed.role} in the ${needed.resource}.`;
  return access === "admin" ? "For administrators of the instance." : "";
}

function security(route: Route): readonly Json[] {
  return [...ofPeople(route), ...(route.forJobs === true ? [{ job: [] }] : [])];
}

function ofPeople({ access, scope, isOpen }: Route): readonly Json[] {
  if (access === "basic") return [{ basic: [] }];
  if (access === "agent") return [{}, { agent: [] }];
  if (access === "client") return [{}, { client: [] }];
  const token = { token: scope === "none" ? [] : [scope] };
  const needsNone = access === "anonymous" || isReader(access) || isOpen !== undefined;
  return needsNone ? [{}, token] : [token];
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "The same key and body within 24 hours gets the first answer again.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
} as const;

function parameters(
  schema: z.ZodType | undefined,
  place: "path" | "query",
  writer: SchemaWriter,
): readonly Json[] {
  if (schema === undefined) return [];
  const { properties, required } = writer.write(schema, "input");
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(isSchema(properties) ? properties : {}).map(([name, value]) => {
    const inner = isSchema(value) ? value : {};
    const { description, ...rest } = inner;
    return {
      name,
      in: place,
      required: place === "path" || needed.has(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(place === "path" ? { example: exampleOf(rest, writer.components(), name) } : {}),
    };
  });
}

function requestBody({ form }: Route, schema: z.ZodType, writer: SchemaWriter): Json {
  const content = json(schema, "input", writer);
  return {
    required: !schema.safeParse({}).success,
    content: form === true ? { [formType]: content["application/json"] } : content,
  };
}

const formType = "application/x-www-form-urlencoded";

function uploadBody(key: string): Json {
  const file = { type: "string", format: "binary" };
  const schema = {
    type: "object",
    properties: { [key]: { type: "array", minItems: 1, items: file } },
    required: [key],
  };
  return { required: true, content: { "multipart/form-data": { schema } } };
}

function attachmentBody(): Json {
  const file = { type: "string", format: "binary" };
  const form = { type: "object", properties: { file }, required: ["file"] };
  const content = {
    "application/octet-stream": { schema: file },
    "multipart/form-data": { schema: form },
  };
  return { required: true, content };
}

function success(route: Route, writer: SchemaWriter): Json {
  const { reply, list, method } = route;
  const headers = {
    "X-Request-Id": { $ref: "#/components/headers/RequestId" },
    ...(method === "get" && { ETag: { $ref: "#/components/headers/ETag" } }),
    ...(list !== undefined && {
      "X-Total-Count": { $ref: "#/components/headers/TotalCount" },
      Link: { $ref: "#/components/headers/Link" },
    }),
  };
  if (reply === "empty") return { description: "Done.", headers };
  if (reply === "stream") {
    const content = { "*/*": { schema: { type: "string", format: "binary" } } };
    return { description: "The bytes.", headers, content };
  }
  const schema = list === undefined ? reply : envelopeOf(list, reply);
  const others = (route.alsoAs ?? []).map((type) => [type, { schema: { type: "string" } }]);
  const content = { ...json(schema, "output", writer), ...Object.fromEntries(others) };
  return { description: "Done.", headers, content };
}

function json(schema: z.ZodType, io: "input" | "output", writer: SchemaWriter): Json {
  const written = writer.write(schema, io);
  const example = exampleOf(written, writer.components());
  return { "application/json": { schema: written, example } };
}

function responses(problem: JsonSchema): Json {
  const listing = { allOf: [problem, { type: "object", required: ["errors"] }] };
  const headers = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };
  const entries = Object.entries(meanings).map(([status, [description, code]]) => {
    const what = { status: Number(status), code, message: description };
    const example = problemDocument("/project/anna/search", "1f0c8d5e", what);
    const schema = status === "422" ? listing : problem;
    const content = { "application/problem+json": { schema, example } };
    return [status, { description, headers, content }];
  });
  return Object.fromEntries(entries);
}

function header(description: string, type: string): Json {
  return { description, schema: { type } };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
