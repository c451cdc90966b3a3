import { expect } from "chai";

import { givenAgent } from "../../../support/agent/agent.ts";
import { startTestApp } from "../../../support/app/app.ts";
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
const list = `${at}/runners`;
const registration = `/page${list}/registration`;

const agents = async (): Promise<readonly Record<string, unknown>[]> => {
  const { body } = await app.get(`${list}?size=100`, { token });
  return (body["_embedded"] as { restPipelineRunnerModelList: Record<string, unknown>[] })
    .restPipelineRunnerModelList;
};
const given = async (over: object = {}, base = list): Promise<string> => {
  const fields = { description: "builder <b>", tag_list: "linux,<i>", ...over };
  return `/page${base}/${(await givenAgent(app, { base, token }, fields)).id}`;
};
const typedInto = ({ text }: Shown, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1];
const secretIn = ({ text }: Shown) => /<code class="secret">([^<]+)</.exec(text)?.[1] ?? "";
const fields = { name: "renamed", description: "", tags: "a, b", maxTimeoutInSec: "" };

beforeEach(async () => {
  for (const { id } of await agents()) await app.delete(`${list}/${id}`, { token });
});

describe("the page of agents", () => {
  it("lists them with their state, tags and last contact", async () => {
    await given();
    const [agent] = await agents();
    const { text } = await admin.see(list);
    expect(text).to.contain("builder &lt;b&gt;").and.contain("&lt;i&gt;, linux");
    expect(text)
      .to.contain(">active<")
      .and.contain("all jobs")
      .and.not.match(/<[bi]>/);
    const contact = agent?.["connectedAt"];
    expect(text).to.contain(contact === null ? ">never<" : `datetime="${contact}"`);
  });

  it("pauses one and lets it go on", async () => {
    const one = await given();
    const active = async () => (await agents())[0]?.["active"];
    const paused = await admin.submit(await admin.see(list), `${one}/pause`);
    expect([paused.status, paused.location, await active()]).to.deep.equal([303, list, false]);
    const shown = await admin.see(list);
    expect(shown.text).to.contain(">paused<").and.not.contain(`${one}/pause`);
    const resumed = await admin.submit(shown, `${one}/resume`);
    expect([resumed.status, resumed.location, await active()]).to.deep.equal([303, list, true]);
    expect((await admin.see(list)).text).not.to.contain(`${one}/resume`);
  });

  it("deletes one", async () => {
    const one = await given();
    const deleted = await admin.submit(await admin.see(list), `${one}/delete`);
    expect([deleted.status, deleted.location]).to.deep.equal([303, list]);
    expect(await agents()).to.deep.equal([]);
    expect((await admin.see(list)).text).to.contain("No agents.");
  });

  it("is reached from the pipelines by administrators alone, and leads back", () =>
    expectLinksOfAdmins(visitors, list));
});

describe("the form of an agent", () => {
  it("is filled in, and changes what is changed", async () => {
    const edit = `${await given()}/edit`;
    const page = await admin.see(edit);
    expect(typedInto(page, "tags")).to.equal("&lt;i&gt;, linux");
    expect(page.text)
      .to.match(/value="runUntagged" checked/)
      .and.match(/"isProtected">/);
    const more = { takes: ["isActive", "isProtected"], maxTimeoutInSec: "600" };
    const sent = await admin.submit(page, edit, { ...fields, ...more });
    expect([sent.status, sent.location], sent.text).to.deep.equal([303, list]);
    expect((await agents())[0]).to.containSubset({
      ...{ name: "renamed", tags: ["a", "b"], maxTimeoutInSec: 600 },
      ...{ active: true, protected: true, runUntagged: false },
    });
    expect((await admin.see(list)).text).to.contain("jobs with its tags, of protected");
    const unlimited = await admin.submit(await admin.see(edit), edit, { ...fields, takes: [] });
    expect(unlimited.status).to.equal(303);
    expect((await agents())[0]).to.include({ active: false, maxTimeoutInSec: null });
  });

  it("shows what was typed again with the reasons", async () => {
    const edit = `${await given()}/edit`;
    const wrong = { ...fields, name: " ", description: "<u>", maxTimeoutInSec: "soon" };
    const sent = await admin.submit(await admin.see(edit), edit, {
      ...wrong,
      takes: "isProtected",
    });
    expect(sent.status).to.equal(422);
    const typed = ["description", "tags", "maxTimeoutInSec"].map((name) => typedInto(sent, name));
    expect(typed).to.deep.equal(["&lt;u&gt;", "a, b", "soon"]);
    expect(sent.text).to.contain('id="f-name-error"').and.contain('id="f-maxTimeoutInSec-error"');
    expect(sent.text)
      .to.match(/value="isProtected" checked/)
      .and.match(/value="isActive">/);
    expect((await agents())[0]).to.include({ name: "builder <b>", protected: false });
  });

  it("overwrites no change that its user has not seen", async () => {
    const one = await given();
    const page = await admin.see(`${one}/edit`);
    await admin.submit(await admin.see(list), `${one}/pause`);
    const late = await admin.submit(page, `${one}/edit`, { ...fields, takes: "isActive" });
    expect([late.status, typedInto(late, "name")]).to.deep.equal([409, "renamed"]);
    expect((await agents())[0]).to.include({ name: "builder <b>", active: false });
  });
});

describe("the registration of agents", () => {
  it("shows the token at a press of its button, and issues another one", async () => {
    const page = await admin.see(list);
    expect(secretIn(page)).to.equal("");
    const shown = await admin.submit(page, registration);
    const known = async () =>
      (await app.get(`${list}/registration-info`, { token })).body["registrationToken"];
    const first = await known();
    expect(shown.status).to.equal(200);
    expect(secretIn(shown)).to.match(/^ledgerforge agent register --url http/);
    expect(secretIn(shown)).to.contain(`--token ${first}`);
    const reset = await admin.submit(shown, `${registration}/reset`);
    expect(await known()).not.to.equal(first);
    expect(secretIn(reset)).to.contain(`--token ${await known()}`);
    expect(secretIn(await admin.see(list))).to.equal("");
  });

  it("shows, when the form is sent again, how it is then", async () => {
    const page = await admin.see(list);
    const shown = await admin.submit(page, registration);
    const reset = await owner.submit(
      await owner.submit(await owner.see(list), registration),
      `${registration}/reset`,
    );
    await given({ description: "joined later" });
    const again = await admin.submit(page, registration);
    expect(secretIn(again)).to.equal(secretIn(reset)).and.not.equal(secretIn(shown));
    expect(again.text).to.contain("joined later");
    const role = async (to: string) =>
      await app.put(`${at}/member/role`, { token, body: { userAlias: "admin", role: to } });
    expect((await role("REPORTER")).status).to.equal(200);
    const refused = await admin.submit(page, registration);
    expect((await role("ADMIN")).status).to.equal(200);
    expect([refused.status, secretIn(refused)]).to.deep.equal([403, ""]);
  });
});

describe("the rights of agents", () => {
  it("show neither rows nor forms to those who do not administer the project", async () => {
    const one = await given();
    for (const reader of [developer, reporter, other]) {
      const opened = [await reader.see(list), await reader.see(`${one}/edit`)];
      const forms = ["pause", "resume", "edit", "delete"].map((form) => `${one}/${form}`);
      for (const form of [...forms, registration, `${registration}/reset`])
        opened.push(await forced(reader, form, fields));
      for (const { status, text } of opened) {
        expect(status).to.equal(403);
        expect(text).not.to.contain("builder").and.not.contain("lfrt_").and.not.contain(one);
      }
    }
    expect((await agents())[0]).to.include({ name: "builder <b>", active: true });
    expect((await owner.see(list)).status).to.equal(200);
  });

  it("hide a project that one may not read, and lead a stranger to the login", async () => {
    const there = `${hidden}/runners`;
    const one = await given({}, there);
    const missing = (await other.see("/project/anna/missing/runners")).text;
    const shown = await other.see(there);
    expect([shown.status, shown.text]).to.deep.equal([404, missing]);
    for (const form of ["pause", "resume", "edit", "delete"]) {
      expect((await forced(other, `${one}/${form}`, fields)).status).to.equal(404);
      // An id of another project names nothing in this one.
      const elsewhere = `/page${list}/${one.split("/").at(-1)}/${form}`;
      expect((await forced(admin, elsewhere, fields)).status, form).to.equal(404);
    }
    expect((await forced(other, `/page${there}/registration`)).status).to.equal(404);
    expect((await stranger.see(list)).location).to.match(/^\/login\?/);
  });
});

// Last, as what it makes is not deleted then.
describe("the list of many agents", () => {
  it("has pages", async () => {
    for (let index = 10; index < 41; index += 1) await given({ description: `number ${index}` });
    await expectTwoPages(admin, list, /data-label="Agent">(number \d+)</g);
  });
});
