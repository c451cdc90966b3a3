import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { pages } from "../../../src/http/html-pages.ts";
import type { PageRoute } from "../../../src/http/page/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { type Browser, browser } from "../../support/client/browser.ts";

const app = await startTestApp();

let anna: TestUser;
let stranger: Browser;
let insider: Browser;
let csrf: string;
before(async () => {
  anna = await app.givenUser("anna");
  stranger = browser(app.url);
  await stranger.open("/login");
  insider = browser(app.url);
  expect((await insider.logIn(anna)).status).to.equal(303);
  csrf = /name="csrf" value="([^"]+)"/.exec((await insider.open("/console")).text)?.[1] ?? "";
});

const pathOf = ({ path }: PageRoute) => path.replaceAll(/\{\w+\}/g, () => randomUUID());
const untouched = async <Result>(run: () => Promise<Result>): Promise<Result> => {
  const head = await app.head();
  const result = await run();
  expect(await app.head()).to.equal(head);
  return result;
};

describe("pages", () => {
  it("have operation ids and paths that no operation has", () => {
    const ids = [...pages, ...routes].map(({ operationId }) => operationId);
    expect(new Set(ids).size).to.equal(ids.length);
    // Those beside operations have their paths.
    const own = pages.filter(({ besides }) => besides !== true);
    const places = [...own, ...routes].map(({ method, path }) => `${method} ${path}`);
    expect(new Set(places).size).to.equal(places.length);
  });

  it("run no script and are framed by nobody", async () => {
    for (const { headers } of [await insider.open("/console"), await stranger.open("/login")]) {
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).to.contain("default-src 'none'").and.contain("frame-ancestors 'none'");
      expect(policy).not.to.match(/script-src|unsafe/);
      expect(headers.get("cache-control")).to.equal("no-store");
      expect(headers.get("x-frame-options")).to.equal("DENY");
    }
  });
});

/** Schemas of forms that were tried: forms with one schema are read alike. */
const tried = new Set<unknown>();

for (const route of pages) {
  const { method, path, access } = route;
  const open = (who: Browser, headers?: Record<string, string>) =>
    method === "get"
      ? who.open(pathOf(route), headers)
      : who.post(pathOf(route), { csrf }, headers);

  describe(`${method} ${path}`, () => {
    if (access === "session") {
      it("sends who is not logged in to the login page, whatever else they bring", async () => {
        const forged = browser(app.url);
        forged.cookies.set("ledgerforge-session", "x".repeat(43));
        for (const who of [browser(app.url), stranger, forged]) {
          const headers = { authorization: `token ${anna.token}`, "x-webauth-user": "anna" };
          const { status, location } = await untouched(() => open(who, headers));
          expect(status).to.equal(303);
          expect(location).to.match(/^\/login\?returnTo=/);
        }
      });
    }

    if (method === "post" && route.crossSite === undefined) {
      it("takes no form but our own", async () => {
        const who = access === "session" ? insider : stranger;
        const others = [{}, { csrf: "" }, { csrf: "0".repeat(64) }, { csrf: ["a", "b"] }];
        for (const fields of others) {
          const { status, text } = await untouched(() => who.post(pathOf(route), fields));
          expect(status).to.equal(403);
          expect(text).to.contain("<!doctype html>");
        }
        const asAnother = { csrf: access === "session" ? "" : csrf };
        expect((await untouched(() => who.post(pathOf(route), asAnother))).status).to.equal(403);
      });

      it("takes no form from another site, even a right one", async () => {
        const elsewhere = [
          { origin: "https://evil.example" },
          { origin: "null" },
          { "sec-fetch-site": "cross-site" },
          { "sec-fetch-site": "same-site" },
        ];
        for (const headers of elsewhere) {
          const { status } = await untouched(() =>
            insider.post(pathOf(route), { csrf }, headers as Record<string, string>),
          );
          expect(status).to.equal(403);
        }
      });

      it("takes nothing but a form", async () => {
        const cookie = [...insider.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
        for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"]) {
          const headers = { cookie, "content-type": type };
          const { status } = await untouched(() =>
            app.post(pathOf(route), { headers, body: JSON.stringify({ csrf }) }),
          );
          expect(status, type).to.equal(400);
        }
      });
    }

    if (route.form !== undefined && !tried.has(route.form)) {
      tried.add(route.form);
      it("never fails by a field", async () => {
        const odd = ["", "\u0000", "x".repeat(5_000), "<script>", "../..", "[]", "аnna", "-1"];
        for (const text of odd) {
          const names = ["login", "password", "name", "scopes", "expiresAt", "returnTo", "code"];
          for (const fields of [
            Object.fromEntries(names.map((name) => [name, text])),
            Object.fromEntries(names.map((name) => [name, [text, text]])),
            Object.fromEntries(names.map((name) => [`${name}[]`, text])),
          ]) {
            const who = access === "session" ? insider : browser(app.url);
            const token = access === "session" ? csrf : await freshCsrf(who);
            const { status } = await who.post(pathOf(route), { ...fields, csrf: token });
            expect(status, JSON.stringify(fields).slice(0, 200)).to.be.lessThan(500);
          }
        }
      });
    }

    if (route.besides === true) {
      it("leaves programs to the operation at its path, and reveals nothing to strangers", async () => {
        const asPage = { accept: "text/html,*/*;q=0.8" };
        const shown = await untouched(() => open(browser(app.url), asPage));
        expect(shown.status).to.be.oneOf([303, 404]);
        const answered = await open(browser(app.url), { accept: "application/json" });
        expect(answered.headers.get("content-type")).to.contain("json");
      });
      return;
    }

    it("answers another method with those it has", async () => {
      const { status, headers } = await app.put(pathOf(route));
      expect(status).to.equal(405);
      expect(headers.get("allow")).to.contain(method.toUpperCase());
    });
  });
}

async function freshCsrf(who: Browser): Promise<string> {
  const { text } = await who.open("/login?choose=1");
  return /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
}
