import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { expect } from "chai";
import { z } from "zod";

import { attachment } from "../../../src/http/core/answer.ts";
import { HttpRefusal } from "../../../src/http/core/errors.ts";
import { route } from "../../../src/http/core/route.ts";
import { instant } from "../../../src/http/core/schema.ts";
import {
  RevisionConflict,
  StoreUnavailable,
} from "../../../src/platform/event-store/event-store.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { serveRoutes } from "../../support/app/machinery.ts";

const failures = {
  bug: () => new Error("password=hunter2 at /var/lib/secret: select * from app_user"),
  lagging: () =>
    new Refusal("unavailable", "projection.lagging", "Later.", { retryAfterSeconds: 1 }),
  conflict: () => new Refusal("conflict", "merge.conflict", "No.", { extra: { files: ["a"] } }),
  store: () => new StoreUnavailable("esdb://10.0.0.1 refused"),
  race: () => new RevisionConflict("user-1 is at 11"),
  database: () => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
  file: () => Object.assign(new Error("no such file"), { code: "ENOENT" }),
  challenge: () =>
    new HttpRefusal(401, "auth.needed", "Say who.", { "WWW-Authenticate": 'Basic realm="x"' }),
} as const;

const common = { tag: "test", summary: "Test", scope: "none", access: "anonymous" } as const;
const declared = { ...common, method: "get" } as const;

const { url, log } = await serveRoutes([
  route({
    ...declared,
    path: "/fail/{how}",
    operationId: "fail",
    params: z.object({ how: z.enum(Object.keys(failures) as [keyof typeof failures]) }),
    reply: "empty",
    handle: async ({ params }) => {
      throw failures[params.how]();
    },
  }),
  route({
    ...declared,
    path: "/row",
    operationId: "getRow",
    reply: z.object({ id: z.int(), at: instant() }),
    // A row with more columns than the reply declares.
    handle: async () => ({ id: 1, at: new Date(0), password_hash: "scrypt$…" }),
  }),
  route({
    ...declared,
    path: "/broken",
    operationId: "getBroken",
    reply: z.object({ id: z.int() }),
    handle: async () => ({ id: 1.5 }),
  }),
  route({
    ...declared,
    path: "/commit/{id}",
    operationId: "getCommit",
    params: z.object({ id: z.string() }),
    reply: z.object({ id: z.string() }),
    handle: async ({ params, request }) => {
      request.immutable(params.id);
      return params;
    },
  }),
  route({
    ...declared,
    path: "/file",
    operationId: "getFile",
    reply: "stream",
    handle: async () => ({
      body: Readable.from(["<script>", "alert(1)</script>"]),
      type: "text/html",
      bytes: 25,
      fileName: 'evil".html',
    }),
  }),
  route({
    ...declared,
    path: "/cut",
    operationId: "getCut",
    reply: "stream",
    handle: async () => ({
      body: Readable.from(
        (function* () {
          yield "half";
          throw new Error("disk gone");
        })(),
      ),
      type: "text/plain",
    }),
  }),
  route({
    ...common,
    method: "delete",
    path: "/thing",
    operationId: "deleteThing",
    reply: "empty",
    status: 204,
    handle: async () => undefined,
  }),
]);

const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });

describe("an answer", () => {
  it("holds what the reply declares and nothing else", async () => {
    expect(await (await get("/row")).json()).to.deep.equal({
      id: 1,
      at: "1970-01-01T00:00:00.000Z",
    });
  });

  it("that breaks its own declaration is our fault, not the caller's", async () => {
    expect((await get("/broken")).status).to.equal(500);
  });

  it("of 204 has no body", async () => {
    const response = await fetch(`${url}/thing`, { method: "DELETE" });
    expect([response.status, await response.text()]).to.deep.equal([204, ""]);
    expect(response.headers.get("cache-control")).to.equal("no-store");
  });

  it("carries headers that keep a browser from doing anything with it", async () => {
    for (const path of ["/row", "/nothing", "/file"]) {
      const { headers } = await get(path);
      expect(headers.get("x-content-type-options")).to.equal("nosniff");
      expect(headers.get("content-security-policy")).to.contain("default-src 'none'");
      expect(headers.get("x-frame-options")).to.equal("DENY");
      expect(headers.get("referrer-policy")).to.equal("no-referrer");
    }
  });

  it("that is a file is saved under its name, sandboxed", async () => {
    const response = await get("/file");
    expect(response.headers.get("content-disposition")).to.equal(
      "attachment; filename=\"evil_.html\"; filename*=UTF-8''evil%22.html",
    );
    expect(response.headers.get("content-security-policy")).to.contain("sandbox");
    expect(await response.text()).to.have.length(25);
  });

  it("that breaks off in the hands of a middleware is cut as well", async () => {
    const broken = await serveRoutes([], {
      before: [
        async (ctx) => {
          ctx.respond = false;
          ctx.res.writeHead(200, { "content-length": "10" });
          ctx.res.write("half");
          throw new Error("disk gone");
        },
      ],
    });
    await expect(fetch(broken.url).then((response) => response.text())).to.be.rejectedWith();
    expect(broken.log.join()).to.contain("answer broke off");
  });

  it("that breaks off is cut, not ended as if it were whole", async () => {
    const response = await get("/cut");
    await expect(response.text()).to.be.rejectedWith();
  });
});

describe("caching", () => {
  it("tags a GET weakly and answers 304 to who has it", async () => {
    const first = await get("/row");
    const tag = first.headers.get("etag") ?? "";
    const digest = createHash("sha1")
      .update(await first.text())
      .digest("base64url");
    expect(tag).to.equal(`W/"${digest}"`);
    expect(first.headers.get("cache-control")).to.equal("private, no-cache");
    expect(first.headers.get("vary")).to.contain("Authorization");

    const again = await get("/row", { "if-none-match": `"other", ${tag}` });
    expect([again.status, await again.text()]).to.deep.equal([304, ""]);
    expect((await get("/row", { "if-none-match": '"other"' })).status).to.equal(200);
  });

  it("tags what is named by its content strongly, for ever", async () => {
    const first = await get("/commit/abc");
    expect(first.headers.get("etag")).to.equal('"abc"');
    expect(first.headers.get("cache-control")).to.equal("private, max-age=31536000, immutable");
    expect((await get("/commit/abc", { "if-none-match": '"abc"' })).status).to.equal(304);
  });

  it("never lets a refusal be kept", async () => {
    const response = await get("/fail/conflict");
    expect(response.headers.get("cache-control")).to.equal("no-store");
    expect(response.headers.get("etag")).to.equal(null);
  });
});

describe("a refusal", () => {
  it("is a problem document with code, message and request id", async () => {
    const response = await get("/fail/conflict?token=secret", { "x-request-id": "chain-7" });
    expect(response.status).to.equal(409);
    expect(response.headers.get("content-type")).to.equal("application/problem+json");
    expect(await response.json()).to.deep.equal({
      type: "about:blank",
      title: "Conflict",
      status: 409,
      detail: "No.",
      instance: "/fail/conflict",
      code: "merge.conflict",
      message: "No.",
      requestId: "chain-7",
      files: ["a"],
    });
  });

  it("says when to come again", async () => {
    const response = await get("/fail/lagging");
    expect([response.status, response.headers.get("retry-after")]).to.deep.equal([503, "1"]);
  });

  for (const [how, status, code] of [
    ["store", 503, "store.unavailable"],
    ["race", 503, "store.contended"],
    ["database", 503, "database.unavailable"],
    ["file", 500, "internal_error"],
  ] as const) {
    it(`is ${status} ${code} when it is the ${how} that failed, and the operator reads why`, async () => {
      log.length = 0;
      const response = await get(`/fail/${how}`);
      const text = await response.text();
      expect([response.status, JSON.parse(text)["code"]]).to.deep.equal([status, code]);
      expect(response.headers.get("retry-after")).to.equal(status === 503 ? "1" : null);
      expect(text).not.to.match(/10\.0\.0\.1|ECONN|user-1/);
      expect(log.filter((line) => line.includes('"request failed"'))).to.have.length(1);
    });
  }

  it("of HTTP itself keeps its headers", async () => {
    const response = await get("/fail/challenge");
    expect(response.status).to.equal(401);
    expect(response.headers.get("www-authenticate")).to.equal('Basic realm="x"');
  });

  it("that is our own fault reveals nothing to the caller but the id by which the log has it", async () => {
    const response = await get("/fail/bug", { "x-request-id": "bug-1" });
    const text = await response.text();
    expect(response.status).to.equal(500);
    expect(JSON.parse(text)).to.include({ code: "internal_error", requestId: "bug-1" });
    expect(text).not.to.match(/hunter2|select|\/var|at .*\.ts/);
    const line = log.find((entry) => entry.includes('"request failed"') && entry.includes("bug-1"));
    expect(line).to.contain("hunter2");
  });
});

describe("the request id", () => {
  it("is kept when well-formed and made otherwise", async () => {
    const uuid = /^[0-9a-f-]{36}$/;
    expect((await get("/row", { "x-request-id": "a.b:c-1" })).headers.get("x-request-id")).to.equal(
      "a.b:c-1",
    );
    for (const bad of ["", "a b", "-x", "ü", '"', "a".repeat(129)]) {
      const { headers } = await get("/row", { "x-request-id": bad }).catch(() => get("/row"));
      expect(headers.get("x-request-id")).to.match(uuid);
    }
  });
});

describe("the access log", () => {
  it("has one line a request, without query, headers or body", async () => {
    log.length = 0;
    const headers = { authorization: "token lfat_secret", "x-request-id": "log-1" };
    await (await get("/row?token=lfat_query", headers)).text();
    const lines = log.filter((line) => line.includes("log-1"));
    expect(lines).to.have.length(1);
    expect(JSON.parse(lines[0]!)).to.include({
      msg: "request",
      method: "GET",
      path: "/row",
      operationId: "getRow",
      status: 200,
    });
    expect(log.join()).not.to.contain("lfat_");
  });
});

describe("a file name in an answer", () => {
  it("cannot break out of its header", () => {
    expect(attachment('a"\r\nSet-Cookie: x=1\\%.txt')).to.equal(
      "attachment; filename=\"a___Set-Cookie: x=1__.txt\"; filename*=UTF-8''" +
        "a%22%0D%0ASet-Cookie%3A%20x%3D1%5C%25.txt",
    );
    expect(attachment("отчёт.pdf")).to.contain(
      "filename*=UTF-8''%D0%BE%D1%82%D1%87%D1%91%D1%82.pdf",
    );
    expect(attachment("\ud800'()*")).to.contain("%EF%BF%BD%27%28%29%2A");
  });
});
