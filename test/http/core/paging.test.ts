import { expect } from "chai";

import { pageHeaders } from "../../../src/http/core/paging.ts";
import { startTestApp } from "../../support/app/app.ts";
import { issueClient } from "../../support/app/issue.ts";

/** The addresses of a `Link` header by their relation, without the service's own. */
function linksOf(header: string | null): Readonly<Record<string, string>> {
  const links = [...(header ?? "").matchAll(/<([^>]*)>; rel="([a-z]+)"/g)];
  return Object.fromEntries(
    links.map(([, url = "", rel = ""]) => [rel, url.replace(/^http:\/\/[^/]+/, "")]),
  );
}

describe("the links of a page", () => {
  const url = "http://forge.example/project/anna/search/issue?status=OPEN&page=1&size=2";
  const linksAt = (number: number, totalPages: number) => {
    const page = { number, totalPages, totalElements: totalPages * 2, size: 2 };
    const headers = pageHeaders({ _embedded: {}, page }, url);
    expect(headers["X-Total-Count"]).to.equal(String(totalPages * 2));
    return Object.fromEntries(
      Object.entries(linksOf(headers["Link"] ?? null)).map(([rel, target]) => [
        rel,
        Number(new URL(target, url).searchParams.get("page")),
      ]),
    );
  };

  it("are those before and behind it, the first and the last", () => {
    expect(linksAt(1, 3)).to.deep.equal({ first: 0, prev: 0, next: 2, last: 2 });
    expect(linksAt(0, 3)).to.deep.equal({ first: 0, next: 1, last: 2 });
    expect(linksAt(2, 3)).to.deep.equal({ first: 0, prev: 1, last: 2 });
    expect(linksAt(0, 0)).to.deep.equal({ first: 0, last: 0 });
    expect(linksAt(9, 3)).to.deep.equal({ first: 0, prev: 2, last: 2 });
  });

  it("keep the other parameters", () => {
    const page = { number: 0, totalPages: 2, totalElements: 3, size: 2 };
    expect(pageHeaders({ page }, url)["Link"]).to.include(
      '<http://forge.example/project/anna/search/issue?status=OPEN&page=1&size=2>; rel="next"',
    );
  });

  it("are none where the answer is no page", () => {
    for (const answer of [undefined, null, [], {}, { page: 3 }, { page: { number: 1 } }, "x"]) {
      expect(pageHeaders(answer, url)).to.deep.equal({});
    }
  });
});

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });

describe("a list", () => {
  it("links to its other pages, whatever form it has", async () => {
    const [anna, boris] = [await app.givenUser("anna"), await app.givenUser("boris")];
    const { token } = anna;
    await app.givenProject(anna, "search", { private: false });
    const issues = issueClient(app, anna, "anna/search");
    for (const title of ["One", "Two", "Three"]) await issues.created({ title });
    await app.post("/user/anna/follow", { token: boris.token });
    const at = "/project/anna/search";
    const linksAt = async (path: string) =>
      linksOf((await app.get(path, { token })).headers.get("link"));

    expect(await linksAt(`${at}/issue?size=2&page=1`)).to.deep.equal({
      first: `${at}/issue?size=2&page=0`,
      prev: `${at}/issue?size=2&page=0`,
      last: `${at}/issue?size=2&page=1`,
    });
    expect(await linksAt("/user/anna/followers")).to.have.keys("first", "last");
    const { next = "", ...more } = await linksAt(`${at}/audit?size=1`);
    expect(next).to.match(/\/audit\?size=1&before=\d+$/);
    expect(more).not.to.have.any.keys("first", "last");
    expect((await linksAt(next))["prev"]).to.match(/\/audit\?size=1&after=\d+$/);
    expect(await linksAt(`${at}/events?after=0&size=1`)).to.have.keys("next");
  });

  it("takes parameters without a value as not given", async () => {
    const { token } = root;
    const answer = await app.get("/user/root/projects?page=&size=&asOf=", { token });
    expect(answer.status).to.equal(200);
    expect(answer.body["page"]).to.include({ size: 10, number: 0 });
    // Also where there is no past.
    expect((await app.get("/admin/settings?asOf=", { token })).status).to.equal(200);
    expect((await app.get("/admin/settings?asOf=2026-01-01", { token })).status).to.equal(422);
  });
});
