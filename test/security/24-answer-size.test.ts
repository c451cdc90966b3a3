import { expect } from "chai";
import { z } from "zod";
import { pages } from "../../src/http/page/html-pages.ts";
import { routes } from "../../src/http/routes.ts";
import { startTestApp } from "../support/app/app.ts";

/** A small request gets a small answer, and every text and list in a request has a largest size. */
const app = await startTestApp();
const anna = await app.givenUser("anna");
const { token } = anna;
await app.givenProject(anna, "forge");

describe("the answer to a request full of mistakes", () => {
  const commit = "/project/anna/forge/commit";
  for (const [what, body] of [
    ["items of a list", { branch: "main", message: "x", actions: Array(15_000).fill(0) }],
    ["fields", { branch: "main", message: "x", actions: Array(1_000).fill({ path: "a/../b" }) }],
    ["long values", { branch: "x".repeat(900_000), message: "", actions: [] }],
  ] as const) {
    it(`lists at most 100 ${what} and stays small`, async () => {
      const answer = await app.post(commit, { token, body });
      expect(answer.status, answer.text.slice(0, 500)).to.equal(422);
      expect(answer.text.length).to.be.lessThan(100_000);
      expect((answer.body["errors"] as unknown[]).length).to.be.within(1, 100);
    });
  }

  it("is short for mistakes that are found after the request was read", async () => {
    const deep = Array(1_000).fill("d").join("/");
    const made = { action: "CREATE", path: "d", content: "" };
    const actions = Array.from({ length: 900 }, (_, n) => ({ ...made, path: `${deep}/${n}` }));
    const body = { branch: "main", message: "x", actions: [made, ...actions] };
    const answer = await app.post(commit, { token, body });
    expect(answer.status, answer.text.slice(0, 500)).to.equal(422);
    expect(answer.text.length).to.be.lessThan(200_000);
  });

  it("comes before more values than any operation takes are parsed", async () => {
    const body = JSON.stringify({ actions: Array(30_000).fill({}) });
    const headers = { "content-type": "application/json" };
    const answer = await app.post(commit, { token, body, headers });
    expect([answer.status, answer.body["code"]]).to.deep.equal([400, "body.too_many_values"]);
  });
});

type Schema = Readonly<Record<string, unknown>>;

const boundedFormats = new Set<unknown>(["uuid", "date", "date-time"]);
const typesOf = ({ type }: Schema): readonly unknown[] => (Array.isArray(type) ? type : [type]);

/** Where a schema takes a text, a list or names without a largest size. */
function unbounded(
  schema: Schema,
  at: string,
  definitions: Schema,
  seen: string[],
): readonly string[] {
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const name = reference.split("/").at(-1) ?? "";
    if (seen.includes(name)) return [];
    return unbounded(definitions[name] as Schema, at, definitions, [...seen, name]);
  }
  const within = (child: unknown, place: string) =>
    unbounded(child as Schema, place, definitions, seen);
  const types = typesOf(schema);
  const found: string[] = [];
  const listed = schema["enum"] !== undefined || schema["const"] !== undefined;
  if (types.includes("string") && !listed && schema["maxLength"] === undefined) {
    if (!boundedFormats.has(schema["format"])) found.push(at);
  }
  if (types.includes("array")) {
    if (schema["maxItems"] === undefined) found.push(`${at}[]`);
    found.push(...within(schema["items"] ?? {}, `${at}[]`));
  }
  for (const [name, child] of Object.entries(schema["properties"] ?? {})) {
    found.push(...within(child, `${at}.${name}`));
  }
  const parts = ["anyOf", "oneOf"].flatMap((key) => (schema[key] as Schema[] | undefined) ?? []);
  for (const part of parts) found.push(...within(part, at));
  // Of an intersection one part is enough; here each is a whole object or the same text again.
  const all = (schema["allOf"] as Schema[] | undefined) ?? [];
  if (all.some((part) => part["properties"] !== undefined)) {
    for (const part of all) found.push(...within(part, at));
  }
  return found;
}

function unboundedIn(schema: z.ZodType | undefined, at: string): readonly string[] {
  if (schema === undefined) return [];
  const written = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema;
  return unbounded(written, at, (written["$defs"] ?? {}) as Schema, []);
}

describe("the schema of every request", () => {
  it("is looked into by this test", () => {
    const schema = z.object({
      a: z.array(z.string()),
      b: z.string().nullish(),
      c: z.union([z.literal(""), z.string()]),
      d: z.string().max(1),
    });
    expect(unboundedIn(schema, "")).to.deep.equal([".a[]", ".a[]", ".b", ".c"]);
  });

  it("bounds texts and lists in bodies and queries of operations", () => {
    const places = routes.flatMap(({ method, path, body, query }) => [
      ...unboundedIn(body, `${method} ${path} body`),
      ...unboundedIn(query, `${method} ${path} query`),
    ]);
    expect([...new Set(places)]).to.deep.equal([]);
  });

  it("bounds texts and lists in forms and queries of pages", () => {
    const places = pages.flatMap(({ method, path, form, query }) => [
      ...unboundedIn(form, `${method} ${path} form`),
      ...unboundedIn(query, `${method} ${path} query`),
    ]);
    expect([...new Set(places)]).to.deep.equal([]);
  });
});
