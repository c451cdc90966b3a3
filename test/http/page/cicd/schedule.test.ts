import { expect } from "chai";

import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { committed } from "../../../support/app/site-world.ts";
import { expectTwoPages, forced, givenVisitors } from "../../../support/app/visitors.ts";
import type { Shown } from "../../../support/client/browser.ts";

const app = await startTestApp();
const { anna, project, at, hidden, ...who } = await givenVisitors(app);
const { owner, admin, developer, reporter, other, stranger } = who;
const ci = pipelinesOf(app, anna, project);
const { token } = anna;
const list = `${at}/cicd/schedule`;
const create = `/page${list}/new`;
const evil = "Nightly <b>&\u202e";

const nightly = { cron: "0 3 * * *", timezone: "Europe/Berlin", refName: "main", active: "true" };

const schedules = async (): Promise<readonly Record<string, unknown>[]> => {
  const { body } = await app.get(`${list}?size=100`, { token });
  return (body["_embedded"] as { pipelineScheduleList: Record<string, unknown>[] })
    .pipelineScheduleList;
};
const given = async (fields: object = {}): Promise<string> => {
  const body = { ...nightly, active: true, ...fields };
  const made = await app.post(list, { token, body });
  expect(made.status, made.text).to.equal(200);
  return `/page${list}/${made.body["id"]}`;
};
const fieldOf = ({ text }: Shown, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1];

before(async () => {
  const file = { ".forge-ci.yaml": "a: {script: x}" };
  await committed(app, anna, at, file, { message: "Add [skip ci]" });
});
beforeEach(async () => {
  for (const { id } of await schedules()) {
    await app.post(`${list}/${id}/take-over`, { token });
    await app.delete(`${list}/${id}`, { token });
  }
});

describe("the form of a new schedule", () => {
  it("creates one, which the list shows to all who read the project", async () => {
    const page = await developer.see(create);
    expect([fieldOf(page, "refName"), fieldOf(page, "timezone")]).to.deep.equal(["main", "UTC"]);
    expect(page.text).to.match(/name="active" value="true" checked/);
    const variables = "A=1\r\nB=two=2\r\n";
    const sent = await developer.submit(page, create, { ...nightly, description: evil, variables });
    expect([sent.status, sent.location], sent.text).to.deep.equal([303, list]);
    const [made] = await schedules();
    expect(made).to.include({ description: evil, refName: "main", isTag: false, active: true });
    expect(made).to.include({ cron: "0 3 * * *", timezone: "Europe/Berlin" });
    expect(made?.["variables"]).to.deep.equal([{ key: "A" }, { key: "B" }]);
    const { text } = await other.see(list);
    expect(text).to.contain("Nightly &lt;b&gt;&amp;&lt;U+202E&gt;").and.not.contain("<b>");
    expect(text).to.contain(">0 3 * * *<").and.contain(">Europe/Berlin<");
    expect(text).to.contain(">on<").and.contain(`datetime="${made?.["nextRunAt"]}"`);
    expect(text).to.match(/href="\/user\/developer">/);
  });

  it("shows what was typed again with the reasons, but no value of a variable", async () => {
    const page = await developer.see(create);
    const wrong = { ...nightly, cron: '9 <"> x', refName: "gone", active: [] };
    const typed = { ...wrong, isTag: "true", variables: "A=s3cret" };
    const sent = await developer.submit(page, create, typed);
    expect(sent.status).to.equal(422);
    expect(sent.text).to.contain('value="9 &lt;&quot;&gt; x"').and.contain('id="f-cron-error"');
    expect(sent.text).to.match(/name="isTag" value="true" checked/);
    expect(sent.text).to.match(/name="active" value="true">/);
    expect(sent.text).to.match(/name="variables"[^>]* required[^>]*f-variables-error/);
    expect(sent.text).to.contain("Type it again: it is not shown.").and.not.contain("s3cret");
    expect(await schedules()).to.deep.equal([]);
    const nameless = { ...nightly, variables: "A=1\nno key\n" };
    const again = await developer.submit(sent, create, nameless);
    expect(again.text).to.contain("Write a key, = and its value in each line.");
    const badKey = await developer.submit(again, create, { ...nightly, variables: "1-2=x" });
    expect([badKey.status, badKey.text.includes("Use letters, digits")]).to.deep.equal([422, true]);
  });

  it("says what the operation says of the whole", async () => {
    const closed = { allowedToPush: "NO_ONE", allowedToMerge: "ADMINS", allowForcePush: false };
    const rule = { token, body: { branchTemplate: "prod", ...closed } };
    expect((await app.post(`${at}/branch-protection/create`, rule)).status).to.be.below(300);
    const typed = { ...nightly, refName: "prod", variables: "A=1" };
    const sent = await developer.submit(await developer.see(create), create, typed);
    expect([sent.status, fieldOf(sent, "refName")]).to.deep.equal([403, "prod"]);
    expect(sent.text).to.match(/role="alert">A protection rule of the branch/);
  });

  it("creates one when it is sent twice", async () => {
    const page = await developer.see(create);
    const both = await Promise.all([1, 2].map(() => developer.submit(page, create, nightly)));
    expect(both.map(({ location }) => location)).to.deep.equal([list, list]);
    expect(await schedules()).to.have.length(1);
  });
});

describe("the form of a schedule", () => {
  it("is filled in, and changes what is changed alone", async () => {
    const edit = `${await given({ description: "Old", variables: [{ key: "A", value: "s3cret" }] })}/edit`;
    expect((await owner.see(list)).text).to.contain(`href="${edit}"`);
    const page = await owner.see(edit);
    expect([fieldOf(page, "description"), fieldOf(page, "cron")]).to.deep.equal([
      "Old",
      "0 3 * * *",
    ]);
    expect(page.text).to.contain("It has A.").and.not.contain("s3cret");
    const sent = await owner.submit(page, edit, { ...nightly, description: "New", active: [] });
    expect([sent.status, sent.location], sent.text).to.deep.equal([303, list]);
    const [changed] = await schedules();
    expect(changed).to.include({ description: "New", active: false, nextRunAt: null });
    expect(changed?.["variables"]).to.deep.equal([{ key: "A" }]);
    expect((await admin.see(list)).text)
      .to.contain(">off<")
      .and.contain('href="/user/anna"');
  });

  it("replaces or removes the variables", async () => {
    const edit = `${await given({ variables: [{ key: "A", value: "1" }] })}/edit`;
    const keys = async () => (await schedules())[0]?.["variables"];
    const send = async (fields: Record<string, string>) =>
      (await owner.submit(await owner.see(edit), edit, { ...nightly, ...fields })).status;
    expect(await send({ variables: "B=2" })).to.equal(303);
    expect(await keys()).to.deep.equal([{ key: "B" }]);
    expect(await send({ removeVariables: "true" })).to.equal(303);
    expect(await keys()).to.deep.equal([]);
    expect((await owner.see(edit)).text).not.to.contain("removeVariables");
  });

  it("overwrites no change that its user has not seen", async () => {
    const edit = `${await given()}/edit`;
    const page = await owner.see(edit);
    const changed = { token, body: { cron: "0 4 * * *" } };
    expect((await app.put(edit.slice(5, -5), changed)).status).to.equal(200);
    const late = await owner.submit(page, edit, { ...nightly, description: "Mine" });
    expect([late.status, fieldOf(late, "description")]).to.deep.equal([409, "Mine"]);
    expect((await schedules())[0]).to.include({ cron: "0 4 * * *", description: "" });
    const seen = await owner.submit(late, edit, { ...nightly, description: "Mine" });
    expect(seen.status).to.equal(303);
    expect((await schedules())[0]).to.include({ cron: "0 3 * * *", description: "Mine" });
  });
});

describe("the list of schedules", () => {
  it("starts the pipeline of one now, and deletes one", async () => {
    const one = await given();
    const played = await owner.submit(await owner.see(list), `${one}/play`);
    expect([played.status, played.location]).to.deep.equal([303, `${at}/cicd/pipeline`]);
    expect(await ci.pipelines()).to.have.length(1);
    expect((await ci.pipelines())[0]).to.include({ source: "SCHEDULE", ref: "main" });
    const deleted = await owner.submit(await owner.see(list), `${one}/delete`);
    expect([deleted.status, deleted.location]).to.deep.equal([303, list]);
    expect((await developer.see(list)).text).to.contain("No schedules.");
    expect((await forced(owner, `${one}/play`)).status).to.equal(404);
  });

  it("offers those who do not own one to take it over, and nothing else", async () => {
    const one = await given({ variables: [{ key: "A", value: "s3cret" }] });
    const forms = ["play", "delete", "edit"].map((act) => `${one}/${act}`);
    for (const visitor of [developer, admin]) {
      const { text } = await visitor.see(list);
      expect(text).to.contain(`${one}/take-over`);
      for (const form of forms) expect(text).not.to.contain(form);
      expect((await visitor.see(`${one}/edit`)).status).to.equal(403);
      for (const form of forms)
        expect((await forced(visitor, form, nightly)).status, form).to.equal(403);
    }
    expect((await owner.see(list)).text).not.to.contain("Take over");
    const taken = await developer.submit(await developer.see(list), `${one}/take-over`);
    expect([taken.status, taken.location]).to.deep.equal([303, list]);
    const { text } = await developer.see(list);
    for (const form of forms) expect(text).to.contain(form);
    expect((await schedules())[0]?.["variables"]).to.deep.equal([]);
    expect((await developer.submit(await developer.see(list), `${one}/delete`)).status).to.equal(
      303,
    );
  });

  it("is reached from the pipelines, and leads back", async () => {
    expect((await reporter.see(`${at}/cicd/pipeline`)).text).to.contain(`href="${list}"`);
    expect((await reporter.see(list)).text).to.contain(`href="${at}/cicd/pipeline">Back`);
  });
});

describe("the rights of schedules", () => {
  it("offer nothing to those who may only read, and refuse their forms", async () => {
    const one = await given();
    for (const reader of [reporter, other]) {
      const { status, text } = await reader.see(list);
      expect([status, text.includes(">0 3 * * *<")]).to.deep.equal([200, true]);
      expect(text).not.to.contain(one).and.not.contain(create).and.not.contain("Run now");
      for (const form of [create, `${one}/edit`]) {
        const opened = await reader.see(form);
        expect([opened.status, opened.text.includes("<fieldset")]).to.deep.equal([403, false]);
      }
      for (const form of [
        create,
        ...["edit", "play", "delete", "take-over"].map((act) => `${one}/${act}`),
      ])
        expect((await forced(reader, form, nightly)).status, form).to.equal(403);
    }
    expect(await schedules()).to.have.length(1);
  });

  it("hide a project that one may not read, and lead a stranger to the login", async () => {
    const body = { ...nightly, active: true, refName: "main" };
    await committed(app, anna, hidden, { "a.txt": "a" });
    const made = await app.post(`${hidden}/cicd/schedule`, { token, body });
    const one = `${hidden}/cicd/schedule/${made.body["id"]}`;
    const missing = (await other.see("/project/anna/missing/cicd/schedule")).text;
    const there = await other.see(`${hidden}/cicd/schedule`);
    expect([there.status, there.text]).to.deep.equal([404, missing]);
    for (const form of ["edit", "play", "delete"]) {
      expect((await forced(other, `/page${one}/${form}`, nightly)).status).to.equal(404);
      // An id of another project names nothing in this one.
      const elsewhere = `/page${list}/${made.body["id"]}/${form}`;
      expect((await forced(developer, elsewhere, nightly)).status, form).to.equal(404);
    }
    expect((await stranger.see(list)).location).to.match(/^\/login\?/);
    expect((await stranger.see(create)).location).to.match(/^\/login\?/);
  });
});

// Last, as what it makes is not deleted then.
describe("the list of many schedules", () => {
  it("has pages", async () => {
    for (let index = 0; index < 31; index += 1) await given({ description: `one ${index}.` });
    await expectTwoPages(other, list, /data-label="Schedule">(one \d+\.)</g);
  });
});
