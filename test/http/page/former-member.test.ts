import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { PageRoute } from "../../../src/http/page/core/route.ts";
import { pages } from "../../../src/http/page/html-pages.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { asPage, committed, loggedIn, type Visitor } from "../../support/app/site-world.ts";
import type { Shown } from "../../support/client/browser.ts";

const app = await startTestApp();
const project = "/project/anna/hidden";
const secret = "wordsthatonlymembersread";

const ofProjects = pages.filter(({ path }) => path.includes("{projectAlias}"));

let insider: Visitor;
let former: Visitor;
let csrf: string;
let hash: string;
let subjects: ReadonlyMap<string, string>;
before(async () => {
  const anna = await app.givenUser("anna");
  const bob = await app.givenUser("bob");
  const { token } = anna;
  await app.givenProject(anna, "hidden");
  hash = await committed(app, anna, project, { "README.md": `# ${secret}\n` });
  await committed(app, anna, project, { "b.md": secret }, { branch: secret, startBranch: "main" });
  const post = async (path: string, body: unknown) => {
    const answer = await app.post(project + path, { token, body });
    expect(answer.status, answer.text).to.equal(200);
    return answer.body;
  };
  await post("/issue", { title: secret, description: secret });
  const branches = { sourceBranch: { id: secret }, targetBranch: { id: "main" } };
  await post("/merge-request", { title: secret, ...branches });
  await post("/label", { title: secret, hexColor: "#000000" });
  const hook = await post("/setting/webhook", {
    ...{ url: `https://${secret}.example/`, events: { MERGE: true } },
  });
  await post("/tag/create", { tagName: secret, branchName: "main", message: secret });
  subjects = new Map([["id", String(hook["id"])]]);
  await post("/member/invite", { userAlias: "bob", role: "ADMIN" });
  former = await loggedIn(app, bob);
  insider = await loggedIn(app, anna);
  expect((await former.see(`${project}/issue/1`)).text).to.contain(secret);
  await leaves(anna, bob);
  csrf = /name="csrf" value="([^"]+)"/.exec((await former.see("/console")).text)?.[1] ?? "";
});

async function leaves({ token }: TestUser, { alias }: TestUser): Promise<void> {
  const path = `${project}/member/${alias}`;
  const answer = await app.delete(path, { token });
  expect(answer.status, answer.text).to.be.oneOf([200, 204]);
}

/** The page of a thing that is there, where there is one of the kind. */
function pathOf({ path }: PageRoute, projectAlias: string): string {
  const values: Readonly<Record<string, string>> = {
    ...{ ownerAlias: "anna", projectAlias, localId: "1", hash, tagName: secret },
    ...{ kind: "ISSUE", position: "1" },
    ...Object.fromEntries(subjects),
  };
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? randomUUID()),
  );
}

const visit = (who: Visitor, route: PageRoute, projectAlias: string): Promise<Shown> => {
  const at = pathOf(route, projectAlias);
  if (route.method === "get") return who.open(at, asPage);
  return who.post(at, { csrf, text: "x", title: "x" });
};

describe("a former member of a private project", () => {
  for (const route of ofProjects) {
    it(`gets the answer of a missing project from ${route.method} ${route.path}`, async () => {
      const head = await app.head(); // No workers run here.
      const there = await visit(former, route, "hidden");
      const missing = await visit(former, route, "missing");
      expect([there.status, there.location.replace("hidden", "missing")]).to.deep.equal([
        missing.status,
        missing.location,
      ]);
      expect(there.status).to.be.oneOf([303, 404]);
      const alike = (text: string) => text.replaceAll(/hidden|missing/g, "…");
      expect(alike(there.text)).to.equal(alike(missing.text));
      expect(there.text + there.location.replaceAll(encodeURIComponent(secret), "")).not.to.contain(
        secret,
      );
      expect(await app.head()).to.equal(head);
    });
  }

  it("is tried at pages that show members what is there", async () => {
    let shown = 0;
    for (const route of ofProjects.filter(({ method }) => method === "get")) {
      const { status, text } = await visit(insider, route, "hidden");
      if (status === 200 && text.includes(secret)) shown += 1;
      if (shown > 12) break;
    }
    expect(shown).to.be.greaterThan(12);
  });

  it("finds the project in none of their lists", async () => {
    for (const path of ["/project/my", "/project/shared", "/user/anna", "/user/bob"]) {
      const { status, text } = await former.see(path);
      if (status === 200) expect(text, path).not.to.contain("anna/hidden");
    }
  });
});
