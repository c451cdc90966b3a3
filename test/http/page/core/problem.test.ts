import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { browser } from "../../../support/client/browser.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const root = await app.givenUser("root", { admin: true });
await app.givenProject(anna, "search");

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async function loggedIn({ alias, password }: { alias: string; password: string }) {
  const visitor = browser(app.url);
  const page = await visitor.open("/login");
  const done = await visitor.submit(page, "/login", { login: alias, password });
  expect([done.status, done.location]).to.deep.equal([303, "/console"]);
  return visitor;
}

/** As RFC 8709 writes it; made without ssh-keygen(1). */
function ed25519Key(): string {
  const { publicKey } = generateKeyPairSync("ed25519");
  const bytes = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const parts = [Buffer.from("ssh-ed25519"), bytes].flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return [length, part];
  });
  return `ssh-ed25519 ${Buffer.concat(parts).toString("base64")}`;
}

describe("an address that a browser opens", () => {
  for (const [at, status] of [
    ["/nothing", 404],
    ["/account", 404],
  ] as const) {
    it(`is answered with a page at ${at}`, async () => {
      const headers = { accept: browserAccept };
      const page = await app.get(at, { headers });
      expect(page.status).to.equal(status);
      expect(page.headers.get("content-type")).to.equal("text/html; charset=utf-8");
      expect(page.headers.get("content-security-policy")).to.contain("style-src 'self'");
      expect(page.text).to.contain("</html>").and.to.contain('href="/console"');
    });
  }

  for (const at of ["/project/anna/search", "/project/anna/none", "/user/anna"]) {
    it(`leads to the login and back at ${at}`, async () => {
      const page = await browser(app.url).open(at, { accept: browserAccept });
      const login = `/login?returnTo=${encodeURIComponent(at)}`;
      expect([page.status, page.location]).to.deep.equal([303, login]);
    });
  }

  it("is answered with JSON when a program requests it, or sends a token", async () => {
    const json = "application/problem+json";
    const headerSets = [{ accept: "*/*" }, { accept: "application/json" }, {}];
    for (const headers of headerSets) {
      expect((await app.get("/nothing", { headers })).headers.get("content-type")).to.equal(json);
    }
    const headers = { accept: browserAccept };
    const shown = await app.get("/project/anna/none", { token: anna.token, headers });
    expect(shown.headers.get("content-type")).to.equal(json);
    const posted = await app.post("/project", { headers, body: {} });
    expect(posted.headers.get("content-type")).to.equal(json);
  });

  for (const at of ["/favicon.svg", "/favicon.ico"]) {
    it(`has an icon at ${at}`, async () => {
      const icon = await app.get(at);
      expect([icon.status, icon.headers.get("content-type")]).to.deep.equal([200, "image/svg+xml"]);
    });
  }
});

describe("the console", () => {
  it("adds, shows and deletes SSH keys", async () => {
    const publicKey = ed25519Key();
    const visitor = await loggedIn(anna);
    const fields = { title: "Laptop <1>", publicKey, expiresAt: "" };
    const added = await visitor.submit(await visitor.open("/console"), "/console/ssh-key", fields);
    expect(added.status, added.text).to.equal(303);
    const shown = await visitor.open("/console");
    expect(shown.text).to.contain("Laptop &lt;1&gt;").and.to.contain("ssh-ed25519");
    const [action = ""] = /\/console\/ssh-key\/[0-9a-f-]+\/delete/.exec(shown.text) ?? [];
    expect((await visitor.submit(shown, action)).status).to.equal(303);
    expect((await visitor.open("/console")).text).not.to.contain("ssh-ed25519");
  });

  it("says why a key is not taken", async () => {
    const visitor = await loggedIn(anna);
    const fields = { title: "x", publicKey: "no key", expiresAt: "" };
    const page = await visitor.submit(await visitor.open("/console"), "/console/ssh-key", fields);
    expect(page.status).to.equal(422);
    expect(page.text).to.contain('role="alert"');
  });

  it("opens the queues to an administrator, and to nobody else", async () => {
    const administrator = await loggedIn(root);
    expect((await administrator.open("/console")).text).to.contain('href="/admin/queues"');
    expect((await administrator.open("/admin/queues")).status).to.equal(200);
    const visitor = await loggedIn(anna);
    expect((await visitor.open("/admin/queues")).status).to.equal(403);
    expect((await browser(app.url).open("/admin/queues")).status).to.equal(401);
  });
});
