import { request as send } from "node:http";
import { expect } from "chai";
import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import type { Gate } from "../../../src/http/access/gate.ts";
import { route } from "../../../src/http/core/route.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";
import { eventually } from "../../support/app/eventually.ts";
import { caller, machinery, serveRoutes } from "../../support/app/machinery.ts";
import { within } from "../../support/app/measure.ts";

const declared = {
  method: "get",
  summary: "A route for this test",
  tag: "Test",
  scope: "none",
  access: "user",
  errors: [],
} as const;

const handled: string[] = [];
const gate: Gate = { ...machinery([]).gate, caller: async () => caller };
const listeners: ((subject: string | undefined) => void)[] = [];
const change = (subject?: string) => listeners.forEach((listener) => void listener(subject));
let onHandling: () => void = () => undefined;
let bytes = 10;

const lasting = route({
  ...declared,
  path: "/lasting",
  operationId: "getLasting",
  reply: "stream",
  async handle({ request }) {
    handled.push("lasting");
    onHandling();
    request.immutable("0123");
    return { body: Buffer.alloc(bytes, "x"), type: "text/plain", bytes };
  },
});
const passing = route({
  ...declared,
  path: "/passing",
  operationId: "getPassing",
  reply: "stream",
  async handle() {
    handled.push("passing");
    return { body: "now", type: "text/plain" };
  },
});

const log: string[] = [];
const { deps } = machinery([], log);
const observed: (string | undefined)[] = [];
const { url } = await serveRoutes([lasting, passing], {
  gate,
  deps: { ...deps, onChange: (listener) => void listeners.push(listener) },
  observe: ({ operationId, status }) => void observed.push(`${operationId} ${status}`),
});

const anew = () => {
  change();
  handled.length = 0;
  observed.length = 0;
  log.length = 0;
  bytes = 10;
  onHandling = () => undefined;
};
beforeEach(anew);

/** Answers are kept for half a second: what finds none, later than that, says nothing. */
const whileKept = (run: () => Promise<void>) => () =>
  within(500, async () => {
    anew();
    await run();
  });

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(url + path, { headers: { authorization: "token a", ...headers } });
const timesHandled = async (...requests: (() => Promise<Response>)[]): Promise<number> => {
  handled.length = 0;
  for (const ask of requests) await (await ask()).arrayBuffer();
  return handled.length;
};
const app = await startTestApp();
const own = new Set(["x-request-id", "date"]);
const headersOf = (answer: Response) =>
  [...answer.headers].filter(([name]) => !own.has(name)).sort(([a], [b]) => (a < b ? -1 : 1));

describe("an answer that holds for ever", () => {
  it(
    "is given again without a handler, the same in every header",
    whileKept(async () => {
      const first = await get("/lasting");
      const again = await get("/lasting");

      expect(handled).to.deep.equal(["lasting"]);
      expect(headersOf(again)).to.deep.equal(headersOf(first));
      expect(again.headers.get("content-length")).to.equal("10");
      expect(await again.text()).to.equal(await first.text());
    }),
  );

  it(
    "is given again as 304 to a caller who has it, also after one who did not",
    whileKept(async () => {
      const had = { "if-none-match": '"0123"' };
      const first = await get("/lasting", had);
      const again = await get("/lasting", had);
      const whole = await get("/lasting");

      expect([first.status, again.status, whole.status]).to.deep.equal([304, 304, 200]);
      expect(handled).to.have.length(1);
      expect(headersOf(again)).to.deep.equal(headersOf(first));
      expect(await whole.text()).to.equal("x".repeat(10));
      expect((await get("/lasting", { "if-none-match": '"4567"' })).status).to.equal(200);
    }),
  );

  it(
    "is not given to others where a header beside Authorization says who calls",
    whileKept(async () => {
      for (const header of ["job-token", "x-nuget-apikey"]) {
        const asking = () => get("/lasting", { [header]: "a" });
        expect(await timesHandled(asking, asking)).to.equal(2);
      }
    }),
  );

  it(
    "has a request id of its own, the caller's when it is well-formed",
    whileKept(async () => {
      const [first, again] = [await get("/lasting"), await get("/lasting")];
      const ids = [first, again].map(({ headers }) => headers.get("x-request-id"));
      expect(new Set(ids)).to.have.property("size", 2);
      const named = await get("/lasting", { "x-request-id": "mine" });
      expect(named.headers.get("x-request-id")).to.equal("mine");
      const odd = await get("/lasting", { "x-request-id": "not mine" });
      expect(odd.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
      expect(handled).to.have.length(1);
    }),
  );

  it(
    "is counted and logged like every other",
    whileKept(async () => {
      await timesHandled(
        () => get("/lasting"),
        () => get("/lasting?q=secret"),
        () => get("/lasting?q=secret", { "if-none-match": '"0123"', "x-request-id": "third" }),
      );
      await eventually(() => observed.length === 3);
      expect(observed).to.deep.equal(["getLasting 200", "getLasting 200", "getLasting 304"]);
      const third = log
        .map((line) => JSON.parse(line))
        .find(({ requestId }) => requestId === "third");
      expect(third).to.include({
        path: "/lasting",
        status: 304,
        userId: caller.userId,
        msg: "request",
      });
      expect(log.join("")).not.to.contain("secret");
    }),
  );

  it(
    "is made anew after any change",
    whileKept(async () => {
      await get("/lasting");
      change("access");
      expect(await timesHandled(() => get("/lasting"))).to.equal(1);
      expect(await timesHandled(() => get("/lasting"))).to.equal(0);
      change(undefined);
      expect(await timesHandled(() => get("/lasting"))).to.equal(1);
    }),
  );

  it("is not kept when something changed while it was made", async () => {
    onHandling = () => change("user-1");
    const twice = [() => get("/lasting"), () => get("/lasting")] as const;
    expect(await timesHandled(...twice)).to.equal(2);
  });

  it("is made anew after half a second, in case a change was not announced", async () => {
    await get("/lasting");
    await eventually(async () => (await timesHandled(() => get("/lasting"))) === 1, 30_000);
  });

  it("is each caller's own", async () => {
    await get("/lasting");
    for (const authorization of ["token b", "Token a", ""]) {
      expect(await timesHandled(() => get("/lasting", { authorization }))).to.equal(1);
    }
  });

  it("is not given to another question", async () => {
    await get("/lasting");
    expect(await timesHandled(() => get("/lasting?file=b"))).to.equal(1);
    expect(await timesHandled(() => get("/lasting", { range: "bytes=0-1" }))).to.equal(1);
    expect((await fetch(`${url}/lasting`, { method: "POST" })).status).to.equal(405);
    expect(await timesHandled(() => get(`/lasting?${"q".repeat(3_000)}`))).to.equal(1);
    expect(await timesHandled(() => get(`/lasting?${"q".repeat(3_000)}`))).to.equal(1);
  });

  it("leaves a request with a body to who reads it", async () => {
    await get("/lasting");
    handled.length = 0;
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: "token a", "content-length": "5" };
      const request = send(`${url}/lasting`, { headers }, ({ statusCode }) => resolve(statusCode));
      request.once("error", reject).end("hello");
    });
    expect(status).to.equal(200);
    expect(handled).to.have.length(1);
  });

  it("is not kept when it is large", async () => {
    bytes = 256 * 1024 + 1;
    const twice = [() => get("/lasting"), () => get("/lasting")] as const;
    expect(await timesHandled(...twice)).to.equal(2);
  });
});

describe("an answer that may be another in a moment", () => {
  it("is made anew each time", async () => {
    expect(
      await timesHandled(
        () => get("/passing"),
        () => get("/passing"),
      ),
    ).to.equal(2);
  });
});

describe("a kept blob", () => {
  let anna: TestUser;
  let blob: string;
  let count = 0;

  before(async () => {
    anna = await app.givenUser("anna");
    await app.givenProject(anna, "kept");
    const actions = [{ action: "CREATE", path: "a.txt", content: "a\n" }];
    const body = { branch: "main", message: "One", actions };
    const made = await app.post("/project/anna/kept/commit", { token: anna.token, body });
    expect(made.status).to.equal(200);
    blob = `/project/anna/kept/blob?commitHash=${made.body["hash"]}&file=a.txt`;
  });

  const statusFor = async (token: string) => (await app.get(blob, { token })).status;
  const reader = async (): Promise<TestUser> => {
    count += 1;
    const user = await app.givenUser(`reader-${count}`);
    const body = { userAlias: user.alias, role: "GUEST" };
    await app.post("/project/anna/kept/member/invite", { token: anna.token, body });
    for (const _again of "123") expect(await statusFor(user.token)).to.equal(200);
    return user;
  };

  it("is gone with the answer that takes the role", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { alias, token } = await reader();
      await app.delete(`/project/anna/kept/member/${alias}`, { token: anna.token });
      expect(await statusFor(token)).to.equal(403);
    }
  });

  it("is gone with the answer that revokes the token", async () => {
    const { token, alias, password } = await reader();
    const basic = basicAuth(alias, password);
    const made = await app.post("/user/settings/access-token/create", {
      headers: { authorization: basic },
      body: { name: "second", scopes: ["PROJECT_READ"] },
    });
    const second = String(made.body["token"]);
    for (const _again of "12") expect(await statusFor(second)).to.equal(200);
    const revoked = await app.delete("/user/settings/access-token/second", { token });
    expect(revoked.status).to.equal(200);
    expect(await statusFor(second)).to.equal(403);
    expect(await statusFor(token)).to.equal(200);
  });

  it("counts against the limit of requests as soon as there is one", async () => {
    const { token } = await reader();
    const admin = await app.givenUser("root", { admin: true });
    const body = { enableApiLimit: true, userApiCountLimit: 3 };
    const set = await app.post("/admin/settings/api-limit", { token: admin.token, body });
    expect(set.status).to.equal(200);
    const statuses: number[] = [];
    for (const _again of "12345") statuses.push(await statusFor(token));
    expect(statuses).to.deep.equal([200, 200, 200, 429, 429]);
    await app.post("/admin/settings/api-limit", { token: admin.token, body: settingsDefaults });
  });
});
