import { expect } from "chai";

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
const list = `${at}/setting/cicd/variable`;
const create = `/page${list}/new`;
const secret = "s3cret value";

const variables = async (): Promise<readonly Record<string, unknown>[]> => {
  const { body } = await app.get(`${list}?size=100`, { token });
  return (body["_embedded"] as { restPipelineJobVariableModelList: Record<string, unknown>[] })
    .restPipelineJobVariableModelList;
};
const given = async (body: object, in_ = list): Promise<string> => {
  const made = await app.post(in_, { token, body });
  expect(made.status, made.text).to.equal(200);
  return `/page${in_}/${made.body["id"]}`;
};
const typedInto = ({ text }: Shown, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1];
const valueIn = ({ text }: Shown) => /name="value"[^>]*>\n([^<]*)<\/textarea>/.exec(text)?.[1];
const isTicked = ({ text }: Shown, name: string) =>
  text.includes(`name="${name}" value="true" checked`);

beforeEach(async () => {
  for (const { id } of await variables()) await app.delete(`${list}/${id}`, { token });
});

describe("the form of a new variable", () => {
  it("creates one, which the list shows to administrators", async () => {
    const page = await admin.see(create);
    const fields = { key: " PLAIN ", value: "<b>\r\ntwo", environmentScope: "review/<i>*" };
    const more = { type: "FILE", protected: "true", description: "Why <u>" };
    const sent = await admin.submit(page, create, { ...fields, ...more });
    expect([sent.status, sent.location], sent.text).to.deep.equal([303, list]);
    expect((await variables())[0]).to.include({
      ...{ key: "PLAIN", value: "<b>\ntwo", environmentScope: "review/<i>*" },
      ...{ type: "FILE", protected: true, mask: false, description: "Why <u>" },
    });
    const { text } = await owner.see(list);
    for (const words of ["PLAIN", "&lt;b&gt; two", "review/&lt;i&gt;*", ">file<", "Why &lt;u&gt;"])
      expect(text).to.contain(words);
    expect(text).to.match(/data-label="Masked">no<.*data-label="Protected">yes</);
    expect(text).not.to.match(/<[biu]>/);
  });

  it("never shows a value that is masked", async () => {
    const fields = { key: "MASKED", value: secret, mask: "true" };
    await admin.submit(await admin.see(create), create, fields);
    expect((await variables())[0]).to.include({ ...fields, mask: true, environmentScope: null });
    const { text } = await admin.see(list);
    expect(text).to.contain(">hidden<").and.contain(">all<").and.not.contain(secret);
  });

  it("shows what was typed again with the reasons, but no value that is to be masked", async () => {
    const fields = { key: "1 <b>", value: "short", mask: "true", environmentScope: "prod" };
    const sent = await admin.submit(await admin.see(create), create, fields);
    expect(sent.status).to.equal(422);
    expect([typedInto(sent, "key"), typedInto(sent, "environmentScope")]).to.deep.equal([
      "1 &lt;b&gt;",
      "prod",
    ]);
    expect([valueIn(sent), isTicked(sent, "mask")]).to.deep.equal(["", true]);
    expect(sent.text).to.contain("Use letters, digits and underscores.");
    expect(sent.text).to.match(/name="value"[^>]* required[^>]*f-value-error/);
    const again = await admin.submit(sent, create, { ...fields, key: "OK" });
    expect([again.status, valueIn(again)]).to.deep.equal([422, ""]);
    expect(again.text).to.contain("at least 8 characters").and.not.contain("short");
    const plain = await admin.submit(again, create, { key: "1", value: "not secret" });
    expect([plain.status, valueIn(plain)]).to.deep.equal([422, "not secret"]);
    expect(await variables()).to.deep.equal([]);
  });

  it("says that a key is taken, and creates one when it is sent twice", async () => {
    const page = await admin.see(create);
    const fields = { key: "ONCE", value: "x" };
    const both = await Promise.all([1, 2].map(() => admin.submit(page, create, fields)));
    expect(both.map(({ location }) => location)).to.deep.equal([list, list]);
    expect(await variables()).to.have.length(1);
    const taken = await admin.submit(await admin.see(create), create, fields);
    expect([taken.status, typedInto(taken, "key")]).to.deep.equal([422, "ONCE"]);
    expect(await variables()).to.have.length(1);
  });
});

describe("the form of a variable", () => {
  const masked = { key: "MASKED", value: secret, mask: true, description: "Old" };

  it("keeps a masked value that is not typed again, and replaces one that is", async () => {
    const edit = `${await given(masked)}/edit`;
    expect((await admin.see(list)).text).to.contain(`href="${edit}"`);
    const page = await admin.see(edit);
    expect([typedInto(page, "key"), isTicked(page, "mask")]).to.deep.equal(["MASKED", true]);
    expect(page.text).to.contain("the present value stays").and.not.contain(secret);
    const fields = { key: "RENAMED", value: "", type: "VARIABLE", mask: "true", protected: "true" };
    const sent = await admin.submit(page, edit, { ...fields, environmentScope: "prod" });
    expect([sent.status, sent.location], sent.text).to.deep.equal([303, list]);
    const [kept] = await variables();
    expect(kept).to.include({ key: "RENAMED", value: secret, mask: true, protected: true });
    expect(kept).to.include({ environmentScope: "prod", description: null });
    const other = { ...fields, value: "another value" };
    expect((await admin.submit(await admin.see(edit), edit, other)).status).to.equal(303);
    expect((await variables())[0]).to.include({ value: "another value", environmentScope: null });
    const short = await admin.submit(await admin.see(edit), edit, { ...fields, value: "short" });
    expect([short.status, valueIn(short)]).to.deep.equal([422, ""]);
  });

  it("reveals nothing of a masked value, nor whether it is another one", async () => {
    const edit = `${await given(masked)}/edit`;
    const before = await admin.see(edit);
    await app.put(edit.slice(5, -5), { token, body: { value: "another value" } });
    const after = await admin.see(edit);
    expect(after.text).not.to.contain("another value");
    expect(typedInto(after, "updatedAt"))
      .to.equal(typedInto(before, "updatedAt"))
      .and.not.to.equal("");
  });

  it("shows a value that is not masked, and empties it", async () => {
    const edit = `${await given({ key: "PLAIN", value: "\none </textarea>" })}/edit`;
    const page = await admin.see(edit);
    expect(valueIn(page)).to.equal("\none &lt;/textarea&gt;");
    expect((await admin.submit(page, edit, { key: "PLAIN", value: "" })).status).to.equal(303);
    expect((await variables())[0]).to.include({ value: "" });
  });

  it("overwrites no change that its user has not seen", async () => {
    const edit = `${await given(masked)}/edit`;
    const page = await admin.see(edit);
    const changed = { token, body: { description: "Other" } };
    expect((await app.put(edit.slice(5, -5), changed)).status).to.equal(200);
    const late = await admin.submit(page, edit, { key: "MINE", value: "", mask: "true" });
    expect([late.status, typedInto(late, "key")]).to.deep.equal([409, "MINE"]);
    expect((await variables())[0]).to.include({ key: "MASKED", description: "Other" });
  });
});

describe("the list of variables", () => {
  it("deletes one", async () => {
    const one = await given({ key: "GONE", value: "x" });
    const deleted = await admin.submit(await admin.see(list), `${one}/delete`);
    expect([deleted.status, deleted.location]).to.deep.equal([303, list]);
    expect(await variables()).to.deep.equal([]);
    expect((await admin.see(list)).text).to.contain("No variables.");
  });

  it("is reached from the pipelines by administrators alone, and leads back", () =>
    expectLinksOfAdmins(visitors, list));
});

describe("the rights of variables", () => {
  it("show neither rows nor forms to those who do not administer the project", async () => {
    const one = await given({ key: "HIDDEN_KEY", value: "x" });
    for (const reader of [developer, reporter, other]) {
      for (const page of [list, create, `${one}/edit`]) {
        const { status, text } = await reader.see(page);
        expect(status, page).to.equal(403);
        expect(text).not.to.contain("HIDDEN_KEY").and.not.contain("<textarea");
      }
      for (const form of [create, `${one}/edit`, `${one}/delete`]) {
        const sent = await forced(reader, form, { key: "NEW", value: "x" });
        expect(sent.status, form).to.equal(403);
        expect(sent.text).not.to.contain("HIDDEN_KEY").and.not.contain("<textarea");
      }
    }
    expect((await variables()).map(({ key }) => key)).to.deep.equal(["HIDDEN_KEY"]);
  });

  it("hide a project that one may not read, and lead a stranger to the login", async () => {
    const there = `${hidden}/setting/cicd/variable`;
    const one = await given({ key: "HIDDEN_KEY", value: "x" }, there);
    const missing = (await other.see("/project/anna/missing/setting/cicd/variable")).text;
    const shown = await other.see(there);
    expect([shown.status, shown.text]).to.deep.equal([404, missing]);
    for (const form of ["edit", "delete"]) {
      const fields = { key: "NEW", value: "x" };
      expect((await forced(other, `${one}/${form}`, fields)).status).to.equal(404);
      // An id of another project names nothing in this one.
      const elsewhere = `/page${list}/${one.split("/").at(-1)}/${form}`;
      expect((await forced(admin, elsewhere, fields)).status, form).to.equal(404);
    }
    for (const page of [list, create])
      expect((await stranger.see(page)).location).to.match(/^\/login\?/);
  });
});

// Last, as what it makes is not deleted then.
describe("the list of many variables", () => {
  it("has pages", async () => {
    for (let index = 10; index < 41; index += 1) await given({ key: `KEY_${index}`, value: "x" });
    await expectTwoPages(admin, list, /<code>(KEY_\d+)<\/code>/g);
  });
});
