import { expect } from "chai";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { browser as openBrowser } from "../../../support/client/browser.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const search = await app.givenProject(anna, "search", { private: false });
const ci = pipelinesOf(app, anna, search);
const list = "/project/anna/search/cicd/pipeline";
const action = `/page${list}/start`;

async function visitorOf(user: typeof anna) {
  const browser = openBrowser(app.url);
  await browser.logIn(user);
  const see = () => browser.open(list, { accept: "text/html" });
  return { ...browser, see };
}

describe("the page of pipelines", () => {
  before(async () => {
    await ci.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
  });

  it("starts one of the default branch, or of the one that is named", async () => {
    const browser = await visitorOf(anna);
    for (const refName of ["", " main "]) {
      const sent = await browser.submit(await browser.see(), action, { refName });
      expect([sent.status, sent.location], sent.text).to.deep.equal([303, list]);
      const [newest] = await ci.pipelines();
      expect(newest).to.include({ ref: "main", source: "WEB", userId: anna.id });
    }
    expect(await ci.pipelines()).to.have.length(2);
  });

  it("shows what was typed again when it is refused", async () => {
    const browser = await visitorOf(anna);
    const typed = { refName: "gone", isTag: "true" };
    const sent = await browser.submit(await browser.see(), action, typed);
    expect(sent.status).to.equal(404);
    expect(sent.text).to.contain('value="gone"').and.contain('value="true" checked');
  });

  it("has no such form for those who may not", async () => {
    const browser = await visitorOf(bob);
    const shown = await browser.see();
    expect(shown.status).to.equal(200);
    expect(shown.text).not.to.contain(action);
  });
});
