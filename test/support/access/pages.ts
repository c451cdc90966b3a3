import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { PageRoute } from "../../../src/http/page/core/route.ts";
import { pages } from "../../../src/http/page/html-pages.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp } from "../app/app.ts";
import { type Browser, browser } from "../client/browser.ts";
import { chosen, type Extent, firstOfEach } from "./sample.ts";

/** Everything that decides what a page takes, and from whom. */
const kindOf = (route: PageRoute): string =>
  JSON.stringify([
    ...[route.access, route.method, route.crossSite, route.form !== undefined, route.besides],
    ...[route.anonymousWhen, route.ignoresBody, route.onlyShows],
  ]);

const nameOf = ({ method, path }: PageRoute): string => `${method.toUpperCase()} ${path}`;
const pathOf = ({ path }: PageRoute) => path.replaceAll(/\{\w+\}/g, () => randomUUID());
const needsSession = ({ access }: PageRoute): boolean => access === "session";
const takesOwnForms = ({ method, crossSite }: PageRoute): boolean =>
  method === "post" && crossSite === undefined;

type Given = Awaited<ReturnType<typeof givenVisitors>>;

/** One property of pages, tried at each page that it is declared for. */
type Check = Readonly<{
  title: string;
  appliesTo: (page: PageRoute) => boolean;
  run: (page: PageRoute, given: Given) => Promise<unknown>;
  /** Of pages that are read alike one is tried. */
  alike?: (page: PageRoute) => unknown;
}>;

/** Declares a test for each check and page; call it with `await` at the top of a file. */
export async function pageAccess(extent: Extent): Promise<void> {
  const given = await givenVisitors();
  declareForAll(given);
  for (const { title, appliesTo, alike, run } of checks) {
    const applicable = firstOfEach(pages.filter(appliesTo), alike ?? nameOf);
    describe(title, () => {
      for (const page of chosen(extent, applicable, kindOf)) {
        it(nameOf(page), async () => {
          await run(page, given);
        });
      }
    });
  }
}

async function givenVisitors() {
  const app = await startTestApp();
  const anna = await app.givenUser("anna");
  const stranger = browser(app.url);
  await stranger.open("/login");
  const insider = browser(app.url);
  expect((await insider.logIn(anna)).status).to.equal(303);
  const { text } = await insider.open("/console");
  const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const untouched = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    const head = await app.head();
    const result = await run();
    expect(await app.head(), "the end of the log").to.equal(head);
    return result;
  };
  const open = (page: PageRoute, who: Browser, headers?: Record<string, string>) =>
    page.method === "get"
      ? who.open(pathOf(page), headers)
      : who.post(pathOf(page), { csrf }, headers);
  return { app, anna, stranger, insider, csrf, untouched, open };
}

function declareForAll({ insider, stranger }: Given): void {
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
}

const checks: readonly Check[] = [
  {
    title: "sends who is not logged in to the login page, whatever else they bring",
    appliesTo: needsSession,
    async run(page, { app, anna, stranger, untouched, open }) {
      const forged = browser(app.url);
      forged.cookies.set("ledgerforge-session", "x".repeat(43));
      for (const who of [browser(app.url), stranger, forged]) {
        const headers = { authorization: `token ${anna.token}`, "x-webauth-user": "anna" };
        const { status, location } = await untouched(() => open(page, who, headers));
        expect(status).to.equal(303);
        expect(location).to.match(/^\/login\?returnTo=/);
      }
    },
  },
  {
    title: "takes no form but its own",
    appliesTo: takesOwnForms,
    async run(page, { insider, stranger, csrf, untouched }) {
      const who = needsSession(page) ? insider : stranger;
      const asAnother = { csrf: needsSession(page) ? "" : csrf };
      const others = [{}, { csrf: "" }, { csrf: "0".repeat(64) }, { csrf: ["a", "b"] }, asAnother];
      for (const fields of others) {
        const { status, text } = await untouched(() => who.post(pathOf(page), fields));
        expect(status, JSON.stringify(fields)).to.equal(403);
        expect(text).to.contain("<!doctype html>");
      }
    },
  },
  {
    title: "takes no form from another site, even a right one",
    appliesTo: takesOwnForms,
    async run(page, { insider, csrf, untouched }) {
      const elsewhere: readonly Record<string, string>[] = [
        { origin: "https://evil.example" },
        { origin: "null" },
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
      ];
      for (const headers of elsewhere) {
        const { status } = await untouched(() => insider.post(pathOf(page), { csrf }, headers));
        expect(status, JSON.stringify(headers)).to.equal(403);
      }
    },
  },
  {
    title: "takes nothing but a form",
    appliesTo: takesOwnForms,
    async run(page, { app, insider, csrf, untouched }) {
      const cookie = [...insider.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"]) {
        const headers = { cookie, "content-type": type };
        const body = JSON.stringify({ csrf });
        const { status } = await untouched(() => app.post(pathOf(page), { headers, body }));
        expect(status, type).to.equal(400);
      }
    },
  },
  {
    title: "does not fail by a field of a form",
    appliesTo: ({ form }) => form !== undefined,
    alike: ({ form }) => form,
    run: withOddFields,
  },
  {
    title: "leaves programs to the operation at its path, and reveals nothing to strangers",
    appliesTo: ({ besides }) => besides === true,
    async run(page, { app, untouched, open }) {
      const asPage = { accept: "text/html,*/*;q=0.8" };
      const shown = await untouched(() => open(page, browser(app.url), asPage));
      expect(shown.status).to.be.oneOf([303, 404]);
      const answered = await open(page, browser(app.url), { accept: "application/json" });
      expect(answered.headers.get("content-type")).to.contain("json");
    },
  },
  {
    title: "answers another method with those it has",
    appliesTo: ({ besides }) => besides !== true,
    async run(page, { app }) {
      const { status, headers } = await app.put(pathOf(page));
      expect(status).to.equal(405);
      expect(headers.get("allow")).to.contain(page.method.toUpperCase());
    },
  },
];

async function withOddFields(page: PageRoute, { app, insider, csrf }: Given): Promise<void> {
  const odd = ["", "\u0000", "x".repeat(5_000), "<script>", "../..", "[]", "аnna", "-1"];
  const names = ["login", "password", "name", "scopes", "expiresAt", "returnTo", "code"];
  const filled = (key: (name: string) => string, value: string | string[]) =>
    Object.fromEntries(names.map((name) => [key(name), value]));
  const forms = odd.flatMap((text) => [
    filled((name) => name, text),
    filled((name) => name, [text, text]),
    filled((name) => `${name}[]`, text),
  ]);
  for (const fields of forms) {
    const who = needsSession(page) ? insider : browser(app.url);
    const token = needsSession(page) ? csrf : await freshCsrf(who);
    const { status } = await who.post(pathOf(page), { ...fields, csrf: token });
    expect(status, JSON.stringify(fields).slice(0, 200)).to.be.lessThan(500);
  }
}

async function freshCsrf(who: Browser): Promise<string> {
  const { text } = await who.open("/login?choose=1");
  return /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
}
