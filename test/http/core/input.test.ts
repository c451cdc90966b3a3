import { expect } from "chai";
import { z } from "zod";

import { route } from "../../../src/http/core/route.ts";
import { bool, int } from "../../../src/http/core/schema.ts";
import type { FieldError } from "../../../src/platform/refusal.ts";
import { serveRoutes } from "../../support/app/machinery.ts";

const Body = z.object({
  title: z.string().trim().min(1).max(20),
  isPrivate: bool(),
  count: int({ min: 0, max: 9 }).optional(),
  owner: z.object({ alias: z.string().min(1) }).optional(),
  scopes: z.array(z.enum(["A", "B"])).optional(),
  flags: z.record(z.string(), z.boolean()).optional(),
  anything: z.unknown().optional(),
  name: z
    .string()
    .min(2)
    .regex(/^[a-z]/)
    .optional(),
  ref: z
    .string()
    .refine((ref) => ref.startsWith("refs/"), "Not a ref.")
    .optional(),
});

const { url } = await serveRoutes([
  route({
    method: "post",
    path: "/thing",
    operationId: "createThing",
    summary: "Echo what was understood",
    tag: "test",
    scope: "none",
    access: "user",
    query: z.object({ q: z.string().optional(), deep: bool().optional() }),
    body: Body,
    reply: z.object({ body: Body, query: z.unknown() }),
    status: 201,
    handle: async ({ body, query }) => ({ body, query }),
  }),
  route({
    method: "post",
    path: "/optional",
    operationId: "doOptional",
    summary: "Take a body or none",
    tag: "test",
    scope: "none",
    access: "user",
    body: z.object({ reason: z.string().optional() }),
    reply: "empty",
    handle: async () => undefined,
  }),
  route({
    method: "get",
    path: "/list",
    operationId: "listThings",
    summary: "List numbers",
    tag: "test",
    scope: "none",
    access: "user",
    query: z.object({ q: z.string().optional() }),
    list: "numberList",
    reply: z.int(),
    handle: async ({ page }) => ({
      items: Array.from({ length: 250 }, (_, n) => n).slice(page.offset, page.offset + page.limit),
      totalElements: 250,
    }),
  }),
]);

type Answer = Readonly<{ status: number; body: Record<string, unknown>; headers: Headers }>;

async function send(body: unknown, path = "/thing", type = "application/json"): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = { "content-type": type };
  const response = await fetch(url + path, { method: "POST", headers, body: text });
  const answered = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  return { status: response.status, body: answered, headers: response.headers };
}

async function fieldsOf(answer: Promise<Answer>): Promise<Record<string, string>> {
  const { status, body } = await answer;
  expect(status, JSON.stringify(body)).to.equal(422);
  expect(body["code"]).to.equal("request.invalid");
  const errors = body["errors"] as FieldError[];
  expect(errors.every(({ message }) => message.length > 0)).to.equal(true);
  return Object.fromEntries(errors.map(({ field, code }) => [field, code]));
}

describe("a request's input", () => {
  it("takes booleans and integers quoted as well, and ignores what it does not know", async () => {
    const sent = { title: " x ", isPrivate: "true", count: "5", unknown: { a: 1 } };
    const { status, body } = await send(sent, "/thing?deep=false&other=1");
    expect(status).to.equal(201);
    expect(body).to.deep.equal({
      body: { title: "x", isPrivate: true, count: 5 },
      query: { deep: false },
    });
  });

  it("refuses a query of more parameters than any operation has, before it is parsed", async () => {
    const answerTo = (count: number) => fetch(`${url}/list?${"q=1&".repeat(count - 1)}q=1`);
    expect((await answerTo(501)).status).to.equal(400);
    expect(await (await answerTo(3_800)).json()).to.include({ code: "query.too_many_parameters" });
    const short = await answerTo(500);
    expect(await short.json()).to.include({ code: "request.invalid" });
  });

  for (const [sent, taken] of [
    ["True", true],
    ["FALSE", false],
    [1, true],
    ["1", true],
    [0, false],
    ["0", false],
  ] as const) {
    it(`takes ${JSON.stringify(sent)} as ${taken}`, async () => {
      const { body } = await send({ title: "x", isPrivate: sent }, `/thing?deep=${sent}`);
      expect(body).to.deep.equal({
        body: { title: "x", isPrivate: taken },
        query: { deep: taken },
      });
    });
  }

  it("names an empty text once, whichever of its rules it breaks", async () => {
    const sent = { title: "x", isPrivate: true, name: "", ref: "" };
    const { body } = await send(sent);
    expect(body["errors"]).to.deep.equal([
      {
        field: "name",
        code: "error.field.empty",
        message: "It must not be empty.",
      },
      { field: "ref", code: "error.field.empty", message: "Not a ref." },
    ]);
  });

  it("lists everything that is wrong in query and body at once", async () => {
    const sent = { title: "  ", isPrivate: "yes", count: 10, owner: {}, scopes: ["A", "C"] };
    expect(await fieldsOf(send(sent, "/thing?deep=2"))).to.deep.equal({
      deep: "error.field.type",
      title: "error.field.empty",
      isPrivate: "error.field.type",
      count: "error.field.too_large",
      "owner.alias": "error.field.empty",
      "scopes.1": "error.field.value",
    });
  });

  it("takes a parameter of the query without a value for one that is left out", async () => {
    const { status, body } = await send({ title: "x", isPrivate: true }, "/thing?q=&deep");
    expect([status, body["query"]]).to.deep.equal([201, {}]);
  });

  it("describes mistakes without the words of a validator", async () => {
    const sent = {
      title: "x".repeat(21),
      count: 10,
      owner: [],
      scopes: ["C"],
      name: "a",
      flags: { a: "maybe" },
    };
    const errors = (await send(sent)).body["errors"] as FieldError[];
    expect(Object.fromEntries(errors.map(({ field, message }) => [field, message]))).to.deep.equal({
      title: "It must have at most 20 characters.",
      isPrivate: "It is missing.",
      count: "It must be at most 9.",
      owner: "It must be an object.",
      "scopes.0": "It must be one of A, B.",
      "flags.a": "It must be true or false.",
      name: "It must have at least 2 characters.",
    });
  });

  it("says which fields are missing, and calls a missing text empty", async () => {
    const expected = { title: "error.field.empty", isPrivate: "error.field.required" };
    expect(await fieldsOf(send({}))).to.deep.equal(expected);
    expect(await fieldsOf(send(""))).to.deep.equal(expected);
    expect(await fieldsOf(send({ title: null, isPrivate: null }))).to.deep.equal(expected);
  });

  for (const [what, sent] of [
    ["an array", []],
    ["a text", '"text"'],
    ["a number", "5"],
    ["null", "null"],
  ] as const) {
    it(`refuses ${what} where an object is expected`, async () => {
      const fields = await fieldsOf(send(sent));
      expect(Object.keys(fields)).to.deep.equal([""]);
    });
  }

  it("refuses arrays and objects where a text is expected", async () => {
    const sent = { title: ["a"], isPrivate: {}, owner: { alias: { "": 1 } } };
    expect(await fieldsOf(send(sent, "/thing?q=a&q=b"))).to.deep.equal({
      q: "error.field.type",
      title: "error.field.type",
      isPrivate: "error.field.type",
      "owner.alias": "error.field.type",
    });
  });

  it("refuses NUL, which no text of the database can hold", async () => {
    expect((await send({ title: "a\0b", isPrivate: true })).body["code"]).to.equal("body.nul");
    const fields = await fieldsOf(send({ title: "a", isPrivate: true }, "/thing?q=%00"));
    expect(fields).to.deep.equal({ q: "error.field.invalid" });
  });

  it("needs no body where every field is optional", async () => {
    const response = await fetch(`${url}/optional`, { method: "POST" });
    expect([response.status, await response.text()]).to.deep.equal([200, ""]);
  });

  it("is not moved by members named __proto__ or constructor", async () => {
    const sent =
      '{"title":"x","isPrivate":true,"__proto__":{"count":7},"flags":{"__proto__":true,"a":true,' +
      '"constructor":false},"owner":{"alias":"a","__proto__":{"polluted":true}},"anything":[{"__proto__":{"a":1}}]}';
    const { body } = await send(sent);
    expect(JSON.stringify(body)).not.to.contain("__proto__");
    expect(body["body"]).to.deep.equal({
      title: "x",
      isPrivate: true,
      flags: { a: true, constructor: false },
      owner: { alias: "a" },
      anything: [{}],
    });
    expect(({} as Record<string, unknown>)["polluted"]).to.equal(undefined);
  });

  for (const [what, sent, type] of [
    ["what is not JSON", "{title:1}", "application/json"],
    ["half of a document", '{"title":', "application/json"],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22]), "application/json"],
    ["a form", "title=a", "application/x-www-form-urlencoded"],
    ["JSON that says it is plain text", '{"title":"a"}', "text/plain"],
  ] as const) {
    it(`answers 400 to ${what}`, async () => {
      const init = { method: "POST", headers: { "content-type": type }, body: sent };
      const response = await fetch(`${url}/thing`, init);
      expect(response.status).to.equal(400);
      expect(await response.json()).to.include({ code: "body.not_json", status: 400 });
    });
  }

  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    it(`answers 400 to a hundred thousand nested ${open}`, async () => {
      const deep = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
      const { status, body } = await send(`{"title":"x","isPrivate":true,"unknown":${deep}}`);
      expect(status).to.equal(400);
      expect(body["code"]).to.be.oneOf(["body.too_deep", "body.not_json"]);
    });
  }

  it("answers 413 to more than a mebibyte, announced or not, and takes just that much", async () => {
    const frame = '{"title":"x","isPrivate":true,"pad":""}'.length;
    const sized = (bytes: number) =>
      `{"title":"x","isPrivate":true,"pad":"${"a".repeat(bytes - frame)}"}`;
    expect((await send(sized(1024 * 1024))).status).to.equal(201);
    expect((await send(sized(1024 * 1024 + 1))).body["code"]).to.equal("body.too_large");

    const body = new Blob([sized(1024 * 1024 + 1)]).stream();
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const response = await fetch(`${url}/thing`, init);
    expect(response.status).to.equal(413);
  });
});

describe("paging", () => {
  const list = async (query: string) => {
    const response = await fetch(`${url}/list${query}`);
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, body, total: response.headers.get("x-total-count") };
  };

  it("starts at page 0 with 10 and echoes what it served", async () => {
    const { body, total } = await list("");
    expect(body).to.deep.equal({
      _embedded: { numberList: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] },
      page: { size: 10, totalElements: 250, totalPages: 25, number: 0 },
    });
    expect(total).to.equal("250");
  });

  it("serves a larger size as 200", async () => {
    const { body } = await list("?size=100000&page=1");
    expect(body["page"]).to.include({ size: 200, number: 1, totalPages: 2 });
    expect((body["_embedded"] as { numberList: number[] }).numberList).to.have.length(50);
  });

  it("answers an empty list beyond the end", async () => {
    const { body } = await list("?page=2147483647&size=200");
    expect(body["_embedded"]).to.deep.equal({ numberList: [] });
  });

  for (const query of [
    "?page=-1",
    "?size=0",
    "?size=-5",
    "?page=x",
    "?size=1.5",
    "?page=1e3",
    "?size=10&size=20",
    "?page=99999999999999999999",
  ]) {
    it(`answers 422 to ${query}`, async () => {
      const { status, body } = await list(query);
      expect(status).to.equal(422);
      expect((body["errors"] as FieldError[]).map(({ field }) => field)).to.have.length(1);
    });
  }
});
