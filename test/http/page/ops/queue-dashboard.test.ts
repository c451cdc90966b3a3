import { expect } from "chai";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");

const basic = (login: string, secret: string) => ({
  headers: { authorization: basicAuth(login, secret) },
});

describe("the queue dashboard", () => {
  it("is shown to an administrator by password or token, also in the browser's dialog", async () => {
    for (const proof of [
      basic("root", root.password),
      basic("root", root.token),
      { token: root.token },
    ]) {
      const { status, text, headers } = await app.get("/admin/queues", proof);
      expect(status).to.equal(200);
      expect(headers.get("content-type")).to.match(/^text\/html/);
      expect(text).to.include("Ledgerforge");
      expect(headers.get("content-security-policy")).to.include("default-src 'self'");
      expect(headers.get("content-security-policy")).not.to.include("unsafe-eval");
    }
  });

  it("serves its scripts, which its policy allows", async () => {
    const page = await app.get("/admin/queues", { token: root.token });
    const scripts = [...page.text.matchAll(/<script[^>]* src="([^"]+)"/g)].map(([, src]) => src);
    expect(scripts).not.to.deep.equal([]);
    for (const src of scripts) {
      const { pathname, origin } = new URL(src ?? "", `${app.url}/admin/queues/`);
      expect(origin).to.equal(new URL(app.url).origin);
      const answer = await app.get(pathname, { token: root.token });
      expect(answer.status).to.equal(200);
      expect(answer.headers.get("content-type")).to.match(/javascript/);
    }
  });

  it("shows every queue with its jobs", async () => {
    await app.deps.queues.add([
      { queue: "webhook-retry", id: "a-job", data: { deliveryId: "x" }, delayMs: 60_000 },
    ]);
    const url = "/admin/queues/api/queues?activeQueue=webhook-retry&status=delayed&page=1";
    const { status, body } = await app.get(url, { token: root.token });
    expect(status).to.equal(200);
    const queues = body["queues"] as { name: string; jobs: { id: string }[] }[];
    expect(queues.map(({ name }) => name)).to.include.members([
      "webhook-delivery",
      "webhook-replay",
      "webhook-retry",
    ]);
    const shown = queues.find(({ name }) => name === "webhook-retry");
    expect(shown?.jobs.map(({ id }) => id)).to.deep.equal(["a-job"]);
  });

  it("lets an administrator act on a job", async () => {
    await app.deps.queues.add([
      { queue: "webhook-replay", id: "promoted", data: {}, delayMs: 60_000 },
    ]);
    const url = "/admin/queues/api/queues/webhook-replay/promoted/promote";
    const { status } = await app.put(url, { token: root.token });
    expect(status).to.be.within(200, 204);
    expect(await app.deps.queues.queue("webhook-replay").getWaitingCount()).to.equal(1);
  });

  for (const path of [
    "/admin/queues",
    "/admin/queues/",
    "/admin/queues/api/queues",
    "/admin/queues/static/x.js",
    "/admin/queues/queue/webhook-retry",
    "/rest-api/admin/queues",
  ]) {
    it(`keeps ${path} from everybody else`, async () => {
      const reader = await app.givenToken(root.id, ["USER_READ", "PROJECT_WRITE"]);
      for (const [proof, status] of [
        [{}, 401],
        [basic("root", "wrong"), 401],
        [basic("anna", anna.password), 403],
        [{ token: anna.token }, 403],
        [{ token: "lfat_nonsense" }, 403],
        [{ token: reader }, 403],
      ] as const) {
        const answer = await app.get(path, proof);
        expect(answer.status).to.equal(status);
        const challenge = answer.headers.get("www-authenticate");
        if (status === 401) expect(challenge).to.match(/^Basic /);
        expect(answer.text).not.to.include("webhook-delivery");
      }
    });
  }

  it("does nothing that another site makes a browser request", async () => {
    const url = "/admin/queues/api/queues/webhook-retry/clean/delayed";
    for (const foreign of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ]) {
      const { headers } = basic("root", root.password);
      const answer = await app.put(url, { headers: { ...headers, ...foreign } });
      expect(answer.status).to.equal(403);
      expect(answer.body["code"]).to.equal("request.cross_origin");
    }
    expect(await app.deps.queues.queue("webhook-retry").getDelayedCount()).to.equal(1);
  });
});
