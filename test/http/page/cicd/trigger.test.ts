import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { committed } from "../../../support/app/site-world.ts";
import {
  expectLinksOfAdmins,
  expectTwoPages,
  forced,
  givenVisitors,
} from "../../../support/app/visitors.ts";
import type { Shown } from "../../../support/client/browser.ts";

const app = await startTestApp();
const visitors = await givenVisitors(app);
const { anna, at, hidden, owner, admin, developer, reporter, other, stranger } = visitors;
const { token } = anna;
const list = `${at}/cicd/trigger`;
const create = `/page${list}/create`;

const triggers = async (): Promise<readonly Record<string, unknown>[]> => {
  const { body } = await app.get(`${list}?size=100`, { token });
  return (body["_embedded"] as { pipelineTriggerList: Record<string, unknown>[] })
    .pipelineTriggerList;
};
const given = async (description = "", in_ = list): Promise<string> => {
  const made = await app.post(in_, { token, body: { description } });
  expect(made.status, made.text).to.equal(200);
  return `/page${in_}/${made.body["id"]}`;
};
const secretIn = ({ text }: Shown) => /<code class="secret">([^<]+)</.exec(text)?.[1] ?? "";

beforeEach(async () => {
  for (const { id } of await triggers()) await app.delete(`${list}/${id}`, { token });
});

describe("the page of triggers", () => {
  it("creates one, shows its token once, and lists it", async () => {
    const file = { ".forge-ci.yaml": "a: {script: x}" };
    await committed(app, anna, at, file, { message: "Add [skip ci]" });
    const page = await admin.see(list);
    expect(page.text).to.contain("No triggers.");
    const sent = await admin.submit(page, create, { description: "Deploy <b>" });
    expect(sent.status).to.equal(200);
    expect(sent.text).to.contain("Deploy &lt;b&gt;").and.not.contain("Deploy <b>");
    expect((await triggers())[0]).to.include({ description: "Deploy <b>" });
    const order = { body: { token: secretIn(sent), refName: "main" } };
    const started = await app.post(`${list}/pipeline`, order);
    expect(started.status, started.text).to.equal(200);
    const { text } = await owner.see(list);
    expect(text).to.contain("Deploy &lt;b&gt;").and.contain('href="/user/admin"');
    expect(text).not.to.contain(secretIn(sent)).and.not.contain('class="secret"');
  });

  it("shows the same page when the form is sent twice", async () => {
    const page = await admin.see(list);
    const both = await Promise.all(
      [1, 2].map(() => admin.submit(page, create, { description: "Twice" })),
    );
    expect(await triggers()).to.have.length(1);
    const [first, second] = both.map((one) => [one.status, secretIn(one)]);
    expect(second).to.deep.equal(first);
    expect(secretIn(both[0]!)).not.to.equal("");
    for (const { text } of both) expect(text).to.contain("/page/site.css").and.contain("crumbs");
  });

  it("shows what was typed again with the reasons", async () => {
    const long = `<i>${"x".repeat(1_000)}`;
    const sent = await admin.submit(await admin.see(list), create, { description: long });
    expect(sent.status).to.equal(422);
    expect(sent.text).to.contain(`value="&lt;i&gt;xxx`).and.contain('id="f-description-error"');
    expect(secretIn(sent)).to.equal("");
    expect(await triggers()).to.deep.equal([]);
  });

  it("deletes one", async () => {
    const one = await given("Gone");
    const deleted = await admin.submit(await admin.see(list), `${one}/delete`);
    expect([deleted.status, deleted.location]).to.deep.equal([303, list]);
    expect(await triggers()).to.deep.equal([]);
  });

  it("has pages", async () => {
    for (let index = 10; index < 41; index += 1) await given(`number ${index}`);
    await expectTwoPages(admin, list, /data-label="Trigger">(number \d+)</g);
  });

  it("is reached from the pipelines by administrators alone, and leads back", () =>
    expectLinksOfAdmins(visitors, list));
});

describe("the rights of triggers", () => {
  it("show neither rows nor forms to those who do not administer the project", async () => {
    const one = await given("For administrators");
    for (const reader of [developer, reporter, other]) {
      const opened = await reader.see(list);
      const sent = await forced(reader, create, { description: "New" });
      const deleted = await forced(reader, `${one}/delete`);
      for (const { status, text } of [opened, sent, deleted]) {
        expect(status).to.equal(403);
        expect(text).not.to.contain("For administrators").and.not.contain(create);
        expect(text).not.to.contain("lfpt_");
      }
    }
    expect(await triggers()).to.have.length(1);
  });

  it("hide a project that one may not read, and lead a stranger to the login", async () => {
    const there = `${hidden}/cicd/trigger`;
    const one = await given("Hidden", there);
    const missing = (await other.see("/project/anna/missing/cicd/trigger")).text;
    const shown = await other.see(there);
    expect([shown.status, shown.text]).to.deep.equal([404, missing]);
    expect((await forced(other, `/page${there}/create`)).status).to.equal(404);
    expect((await forced(other, `${one}/delete`)).status).to.equal(404);
    // An id of another project names nothing in this one.
    const elsewhere = `/page${list}/${one.split("/").at(-1)}/delete`;
    expect((await forced(admin, elsewhere)).status).to.equal(404);
    expect((await stranger.see(list)).location).to.match(/^\/login\?/);
  });
});
