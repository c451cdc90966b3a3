import { expect } from "chai";

import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { loggedIn } from "../../support/app/site-world.ts";

const app = await startTestApp({ workers: true });
const [anna, bob] = await Promise.all([app.givenUser("anna"), app.givenUser("bob")]);
const file = ".forge-ci.yaml";

describe("the pages of a pipeline that starts others", () => {
  const parent = "/project/anna/parent/cicd";
  const hidden = "/project/anna/hidden/cicd";
  let localIds: ReadonlyMap<string, unknown>;
  before(async () => {
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "parent", { private: false }));
    const other = pipelinesOf(app, anna, await app.givenProject(anna, "hidden"));
    await other.commit({ [file]: "theirs: {script: x}" }, "Add [skip ci]");
    const content = `
child: {trigger: {include: child.yml}}
elsewhere: {trigger: {project: anna/hidden}}
plain: {script: x}
`;
    const child = "inner: {script: x}";
    await ci.commit({ [file]: content, "child.yml": child }, "Add [skip ci]");
    const { localId } = await ci.start();
    expect(localId).to.equal(1);
    await eventually(async () => {
      expect(await ci.pipelines()).to.have.length(2);
      return expect(await other.pipelines()).to.have.length(1);
    }, 60_000);
    const jobs = await ci.jobs(localId);
    localIds = new Map(jobs.map((job) => [String(job["name"]), job["localId"]]));
  });

  it("lead to those, and from those to it", async () => {
    const visitor = await loggedIn(app, anna);
    const { text } = await visitor.see(`${parent}/pipeline/1`);
    expect(text).to.contain("Started pipelines");
    expect(text).to.contain(`${parent}/pipeline/2">anna/parent #2</a>`);
    expect(text).to.contain(`${hidden}/pipeline/1">anna/hidden #1</a>`);
    expect(text).not.to.contain("<dt>Started by</dt>");

    for (const started of [`${parent}/pipeline/2`, `${hidden}/pipeline/1`]) {
      const page = await visitor.see(started);
      expect(page.text).to.match(/<dt>Started by<\/dt><dd><a [^>]*>anna\/parent #1<\/a>/);
      expect(page.text).not.to.contain("Started pipelines");
    }
  });

  it("name what each job started", async () => {
    const visitor = await loggedIn(app, anna);
    const pageOf = async (name: string) =>
      (await visitor.see(`${parent}/job/${localIds.get(name)}`)).text;
    expect(await pageOf("child"))
      .to.contain("anna/parent #2")
      .and.contain("A job that starts a pipeline has no log.")
      .and.not.contain("anna/hidden");
    expect(await pageOf("elsewhere"))
      .to.contain("anna/hidden #1")
      .and.not.contain("anna/parent #2");
    expect(await pageOf("plain")).not.to.contain("Started pipelines");
  });

  it("do not name a project that the visitor may not read", async () => {
    const visitor = await loggedIn(app, bob);
    const { status, text } = await visitor.see(`${parent}/pipeline/1`);
    expect(status).to.equal(200);
    expect(text).to.contain("anna/parent #2").and.not.contain("anna/hidden");
    const job = await visitor.see(`${parent}/job/${localIds.get("elsewhere")}`);
    expect(job.status).to.equal(200);
    expect(job.text).not.to.contain("anna/hidden");
  });
});
