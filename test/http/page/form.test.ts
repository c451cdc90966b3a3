import { expect } from "chai";

import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { committed, loggedIn, type Visitor } from "../../support/app/site-world.ts";
import { hiddenFields, type Shown } from "../../support/client/browser.ts";

const app = await startTestApp();
const open = "/project/anna/open";
const hidden = "/project/anna/hidden";

let anna: TestUser;
let insider: Visitor;
let bob: Visitor;
let bugId: string;
before(async () => {
  anna = await app.givenUser("anna");
  await app.givenProject(anna, "open", { private: false });
  await app.givenProject(anna, "hidden");
  await committed(app, anna, open, { "README.md": "# Open", "a.txt": "one\ntwo\n" });
  await committed(app, anna, hidden, { "README.md": "# Hidden" });
  const changed = { "a.txt": "one\nzwei\nthree\n" };
  await committed(app, anna, open, changed, {
    ...{ branch: "feature", startBranch: "main", action: "UPDATE" },
  });
  const label = { title: "bug <b>", hexColor: "#cf222e" };
  const { body } = await app.post(`${open}/label`, { token: anna.token, body: label });
  bugId = String(body["id"]);
  insider = await loggedIn(app, anna);
  bob = await loggedIn(app, await app.givenUser("bob"));
});

const get = async (at: string) => (await app.get(at, { token: anna.token })).body;

/** Opens the page of a form, fills it in and sends it. */
async function sent(
  who: Visitor,
  at: string,
  fields: Readonly<Record<string, string | readonly string[]>>,
): Promise<Shown> {
  return who.submit(await who.see(at), at.split("?", 1)[0] ?? at, fields);
}

const alias = ({ text }: Shown, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";

describe("forms of issues", () => {
  const form = `/page${open}/issue/new`;

  it("create an issue with people and labels", async () => {
    expect((await insider.see(`${open}/issue`)).text).to.contain(`href="${form}"`);
    const page = await insider.see(form);
    expect(page.text).to.contain("bug &lt;b&gt;").and.not.contain("bug <b>");
    const fields = { title: "Broken", description: "one\r\ntwo", assignedUsers: "@bob, anna" };
    const { status, location } = await sent(insider, form, { ...fields, labels: bugId });
    expect([status, location]).to.deep.equal([303, `${open}/issue/1`]);
    const issue = await get(`${open}/issue/1`);
    expect(issue).to.containSubset({
      ...{ title: "Broken", description: "one\ntwo", status: { id: "OPEN" } },
      ...{ assignedUsers: [{ username: "bob" }, { username: "anna" }], labels: [{ id: bugId }] },
    });
  });

  it("keep what was typed, and say beside each field what is wrong with it", async () => {
    const description = "\nkept </textarea><script>alert(1)</script>";
    const fields = { title: " ", description, assignedUsers: "nobody-here", labels: bugId };
    const missing = await sent(insider, form, fields);
    expect(missing.status).to.equal(422);
    expect(missing.text)
      .to.contain("There is no user nobody-here.")
      .and.contain('value="nobody-here"')
      .and.contain(`value="${bugId}" checked`)
      .and.contain(">\n\nkept &lt;/textarea&gt;&lt;script&gt;")
      .and.not.contain("<script>");
    const empty = await insider.submit(missing, form, { ...fields, assignedUsers: "" });
    expect(empty.status).to.equal(422);
    expect(empty.text).to.match(/<p class="error" id="f-title-error">Fill this in\.<\/p>/);
    expect(empty.text).to.match(/aria-describedby="f-title-error" aria-invalid="true" autofocus/);
    const right = await insider.submit(empty, form, { ...fields, title: "Now", assignedUsers: "" });
    expect([right.status, right.location]).to.deep.equal([303, `${open}/issue/2`]);
    expect(await get(`${open}/issue/2`)).to.containSubset({ title: "Now", description });
  });

  it("edit an issue, and leave what was not changed", async () => {
    const at = `/page${open}/issue/1/edit`;
    expect((await insider.see(`${open}/issue/1`)).text).to.contain(`href="${at}"`);
    const page = await insider.see(at);
    expect(alias(page, "title")).to.equal("Broken");
    expect(alias(page, "assignedUsers")).to.equal("bob, anna");
    expect(page.text).to.contain(`value="${bugId}" checked`).and.contain(">\none\ntwo</textarea>");
    const fields = { title: "Mended", description: "one\ntwo", status: "IN_PROGRESS" };
    const done = await insider.submit(page, at, { ...fields, assignedUsers: "anna" });
    expect([done.status, done.location]).to.deep.equal([303, `${open}/issue/1`]);
    expect(await get(`${open}/issue/1`)).to.containSubset({
      ...{ title: "Mended", description: "one\ntwo", labels: [] },
      ...{ status: { id: "IN_PROGRESS" }, assignedUsers: [{ username: "anna" }] },
    });
  });

  it("overwrite no edit that the person has not seen", async () => {
    const at = `/page${open}/issue/2/edit`;
    const page = await insider.see(at);
    const other = { title: "By another", description: "other" };
    const edited = await app.put(`${open}/issue/2/edit`, { token: anna.token, body: other });
    expect(edited.status).to.equal(200);
    const fields = { title: "Mine", description: "mine" };
    const late = await insider.submit(page, at, fields);
    expect(late.status).to.equal(409);
    expect(late.text).to.contain("It changed since").and.contain('value="Mine"');
    expect(await get(`${open}/issue/2`)).to.containSubset(other);
    expect((await insider.submit(late, at, fields)).status).to.equal(303);
    expect(await get(`${open}/issue/2`)).to.containSubset(fields);
  });

  it("have the rights of the operations", async () => {
    const at = `/page${open}/issue/1/edit`;
    const fields = { title: "Bob's", description: "kept by bob" };
    const refused = await sent(bob, at, fields);
    expect(refused.status).to.equal(403);
    expect(refused.text).to.contain("kept by bob").and.contain("needs the role REPORTER");
    for (const path of [`/page${hidden}/issue/new`, `/page${hidden}/issue/1/edit`]) {
      expect((await bob.see(path)).status).to.equal(404);
      const csrf = hiddenFields((await bob.see(form)).text, form)["csrf"] ?? "";
      expect((await bob.post(path, { ...fields, csrf })).status).to.equal(404);
    }
  });

  it("show a comment again that was refused", async () => {
    const at = `${open}/issue/1`;
    const fields = { text: `${"long ".repeat(14_000)}<b>` };
    const refused = await insider.submit(await insider.see(at), `/page${at}/comment`, fields);
    expect(refused.status).to.equal(422);
    expect(refused.text).to.contain("long &lt;b&gt;</textarea>").and.contain("This is too long.");
    const shorter = await insider.submit(refused, `/page${at}/comment`, { text: "short" });
    expect([shorter.status, shorter.location]).to.deep.equal([303, at]);
  });
});

describe("forms of merge requests", () => {
  const form = `/page${open}/merge-request/new`;
  const at = `${open}/merge-request/1`;

  it("are opened from a branch, and say what cannot be merged", async () => {
    expect((await insider.see(`${open}/branch`)).text).to.contain(`${form}?sourceBranch=feature`);
    const page = await insider.see(`${form}?sourceBranch=feature`);
    expect([alias(page, "sourceBranch"), alias(page, "targetBranch")]).to.deep.equal([
      "feature",
      "main",
    ]);
    expect(page.text).to.contain('<option value="feature"></option>');
    const same = { sourceBranch: "main", targetBranch: "main", title: "Same", description: "kept" };
    const refused = await insider.submit(page, form, same);
    expect(refused.status).to.equal(422);
    expect(refused.text)
      .to.contain('id="f-targetBranch-error">Source and target are the same branch.')
      .and.contain(">\nkept</textarea>");
    const none = await insider.submit(page, form, { ...same, sourceBranch: "none" });
    expect(none.status).to.equal(404);
    expect(none.text).to.contain('role="alert"').and.contain(">\nkept</textarea>");
  });

  it("create one with reviewers, labels and choices", async () => {
    const fields = {
      ...{ sourceBranch: "feature", targetBranch: "main", title: "Add", description: "It *adds*" },
      ...{ reviewers: "bob", labels: bugId, choices: ["squashCommit", "removeSourceBranch"] },
    };
    const { status, location } = await sent(insider, form, fields);
    expect([status, location]).to.deep.equal([303, at]);
    expect(await get(at)).to.containSubset({
      ...{ title: "Add", description: "It *adds*", squashCommit: true, removeSourceBranch: true },
      ...{ workInProgress: false, reviewers: [{ username: "bob" }], labels: [{ id: bugId }] },
    });
  });

  it("edit one", async () => {
    const edit = `/page${at}/edit`;
    const page = await insider.see(edit);
    expect(alias(page, "reviewers")).to.equal("bob");
    expect(page.text).to.contain('value="squashCommit" checked');
    const fields = { title: "Draft: add", targetBranch: "main", description: "", reviewers: "" };
    const done = await insider.submit(page, edit, { ...fields, choices: "squashCommit" });
    expect([done.status, done.location]).to.deep.equal([303, at]);
    expect(await get(at)).to.containSubset({
      ...{ title: "Draft: add", description: "", squashCommit: true, removeSourceBranch: false },
      ...{ reviewers: [], labels: [] },
    });
    expect((await sent(bob, edit, fields)).status).to.equal(403);
  });

  it("keep the choices of a merge that was refused", async () => {
    const fields = { squashCommit: "true", mergeCommitMessage: "kept <i>" };
    const refused = await insider.submit(await insider.see(at), `/page${at}/merge`, fields);
    expect(refused.status).to.equal(422);
    expect(refused.text)
      .to.contain('name="squashCommit" value="true" checked')
      .and.contain("kept &lt;i&gt;</textarea>")
      .and.contain(`<a href="${at}">Back</a>`);
  });
});

describe("a form that is sent twice", () => {
  const total = async (at: string) =>
    Number(((await get(at)) as { page: { totalElements: number } }).page.totalElements);
  const issues = () => total(`${open}/issue`);

  it("makes one issue, and leads to it both times", async () => {
    const form = `/page${open}/issue/new`;
    const page = await insider.see(form);
    const before = await issues();
    const fields = { title: "Once", description: "once" };
    const both = await Promise.all([
      insider.submit(page, form, fields),
      insider.submit(page, form, fields),
    ]);
    const [first, second] = both.map(({ status, location }) => [status, location]);
    expect(first).to.deep.equal([303, `${open}/issue/${before + 1}`]);
    expect(second).to.deep.equal(first);
    expect((await insider.submit(page, form, fields)).location).to.equal(first?.[1]);
    expect(await issues()).to.equal(before + 1);
    const other = await insider.submit(page, form, { ...fields, title: "Another text" });
    expect(other.location).to.equal(`${open}/issue/${before + 2}`);
  });

  it("makes one comment, one merge request, one discussion and one reply", async () => {
    const request = `${open}/merge-request/1`;
    const twice = async (page: Shown, form: string, fields: Readonly<Record<string, string>>) => {
      const first = await insider.submit(page, form, fields);
      const second = await insider.submit(page, form, fields);
      expect([first.status, second.status], second.text).to.deep.equal([303, 303]);
      expect(second.location).to.equal(first.location);
    };
    const comments = await total(`${open}/issue-discussion/1`);
    const issue = await insider.see(`${open}/issue/1`);
    await twice(issue, `/page${open}/issue/1/comment`, { text: "once" });
    expect(await total(`${open}/issue-discussion/1`)).to.equal(comments + 1);
    const form = `/page${open}/merge-request/new`;
    await committed(app, anna, open, { "c.txt": "c" }, { branch: "other", startBranch: "main" });
    const fields = { sourceBranch: "other", targetBranch: "main", title: "Once" };
    await twice(await insider.see(form), form, fields);
    expect(await total(`${open}/merge-request/list`)).to.equal(2);
    await twice(await insider.see(request), `/page${request}/comment`, { text: "once" });
    await twice(await insider.see(request), `/page${request}/reply`, { text: "reply" });
    const { _embedded: all } = await get(`${request}/discussions`);
    expect(all).to.containSubset({
      restDiscussionModelList: [{ rootNote: { message: "once" }, replies: [{ message: "reply" }] }],
    });
    expect(JSON.stringify(all).match(/"rootNote"/g)).to.have.length(1);
    expect(JSON.stringify(all).match(/"message":"reply"/g)).to.have.length(1);
  });

  it("may be sent again when it was refused, also as it was", async () => {
    const form = `/page${open}/merge-request/new`;
    const page = await insider.see(form);
    const fields = { sourceBranch: "later", targetBranch: "main", title: "Later" };
    expect((await insider.submit(page, form, fields)).status).to.equal(404);
    await committed(app, anna, open, { "d.txt": "d" }, { branch: "later", startBranch: "main" });
    const { status, location } = await insider.submit(page, form, fields);
    expect([status, location]).to.deep.equal([303, `${open}/merge-request/3`]);
  });
});

describe("comments on lines", () => {
  const at = `${open}/merge-request/1`;
  const line = `${at}/changes?filePath=a.txt&newLine=2&oldLine=0`;

  it("are written in a form at the line, and stand there", async () => {
    const changes = await insider.see(`${at}/changes`);
    const link = `${line.replaceAll("&", "&amp;")}#comment`;
    expect(changes.text).to.contain(`<a href="${link}" aria-label="Comment on line 2">2</a>`);
    const page = await insider.see(line);
    const form = `/page${at}/comment`;
    expect(hiddenFields(page.text, form)).to.include({ newLine: "2", oldLine: "0" });
    const odd = await insider.submit(page, form, { text: "kept", newLine: "99" });
    expect(odd.status).to.equal(422);
    expect(odd.text).to.contain("kept</textarea>").and.contain("There is no such line");
    const { status, location } = await insider.submit(page, form, { text: "Why _zwei_?" });
    expect([status, location.split("#")[0]]).to.deep.equal([303, `${at}/changes?filePath=a.txt`]);
    const after = await insider.see(location);
    expect(after.text).to.contain(`id="${location.split("#")[1]}"`);
    const below = after.text.slice(after.text.indexOf(">zwei</code>"));
    expect(below).to.match(/^>zwei<\/code><\/td><\/tr>\s*<tr class="talk">/);
    expect(below).to.contain("Why <em>zwei</em>?");
  });

  it("are answered and resolved there", async () => {
    const page = await insider.see(`${at}/changes?filePath=a.txt`);
    const uuid = hiddenFields(page.text, `/page${at}/reply`)["discussionUuid"];
    const reply = await bob.submit(await bob.see(`${at}/changes`), `/page${at}/reply`, {
      text: "Because.",
    });
    expect([reply.status, reply.location]).to.deep.equal([303, `${at}#d-${uuid}`]);
    expect((await insider.submit(page, `/page${at}/resolve`)).status).to.equal(303);
    const { text } = await insider.see(`${at}/changes`);
    expect(text).to.contain("Because.").and.contain("Take up again").and.contain("resolved</span>");
  });
});

describe("forms of the audit", () => {
  const at = `${open}/audit`;

  it("take an event back, or say why that cannot be", async () => {
    const label = { title: "extra", hexColor: "#0000ff" };
    await app.post(`${open}/label`, { token: anna.token, body: label });
    const page = await insider.see(`${at}?kind=LABEL`);
    expect(page.text).to.contain("LabelCreated");
    const form = `/page${at}/undo`;
    const done = await insider.submit(page, form);
    expect([done.status, done.location]).to.deep.equal([303, at]);
    const titles = (await app.get(`${open}/label`, { token: anna.token })).text;
    expect(titles).to.contain("bug").and.not.contain("extra");
    // Another form, not the same one sent twice.
    const again = await insider.submit(page, form, { once: "" });
    expect(again.status).to.equal(409);
    expect(again.text).to.contain('role="alert"').and.contain(`<a href="${at}">Back</a>`);
    const { csrf = "" } = hiddenFields(
      (await bob.see(`/page${open}/issue/new`)).text,
      `/page${open}/issue/new`,
    );
    const eventId = hiddenFields(page.text, form)["eventId"] ?? "";
    expect((await bob.post(form, { csrf, eventId })).status).to.equal(403);
  });

  it("lead to a thing as it was then", async () => {
    const { text } = await insider.see(`${at}?kind=ISSUE&type=IssueEdited`);
    const links = [...text.matchAll(/href="(\/page\/[^"]+)">As it was then/g)];
    const first = links.at(-1)?.[1] ?? "";
    const { status, location } = await insider.see(first);
    expect([status, location.split("=")[0]]).to.deep.equal([303, `${open}/issue/1?asOf`]);
    await app.put(`${open}/issue/1/edit`, {
      token: anna.token,
      body: { title: "Today", description: "today" },
    });
    const then = await insider.see(location);
    expect(then.text)
      .to.contain("Mended (#1)")
      .and.contain("As it was after event")
      .and.contain(`<a href="${open}/issue/1">As it is now</a>`)
      .and.not.contain("Today");
    expect((await insider.see(`${open}/issue/1`)).text).to.contain("Today (#1)");
    expect((await bob.see(location)).status).to.equal(403);
    expect((await insider.see(`${open}/issue/1?asOf=never`)).status).to.equal(422);
    expect((await bob.see(first.replace("/open/", "/hidden/"))).status).to.equal(404);
    expect((await insider.see(first.replace("/open/", "/hidden/"))).status).to.equal(404);
  });

  it("lead to a merge request as it was then", async () => {
    const { text } = await insider.see(`${at}?kind=MERGE_REQUEST`);
    const links = [...text.matchAll(/href="(\/page\/[^"]+)">As it was then/g)];
    const { location } = await insider.see(links.at(-1)?.[1] ?? "");
    const then = await insider.see(location);
    expect(then.text).to.contain("<h1>Add (!1)</h1>").and.contain("As it was after event");
    expect(then.text).not.to.contain("/merge-request/1/approve");
  });

  it("show what had been said then, with nothing to press", async () => {
    const position = await app.head();
    const issue = `${open}/issue/1`;
    await insider.submit(await insider.see(issue), `/page${issue}/comment`, { text: "since" });
    const comments = (await insider.see(`${issue}?asOf=${position}`)).text;
    expect(comments).to.contain("<p>short</p>").and.not.contain("<p>since</p>");
    expect((await insider.see(issue)).text).to.contain("<p>since</p>");
    const request = `${open}/merge-request/1`;
    await insider.submit(await insider.see(request), `/page${request}/comment`, { text: "since" });
    const { text } = await insider.see(`${request}?asOf=${position}`);
    expect(text).to.contain("Why <em>zwei</em>?").and.contain(">a.txt</a>, line 2");
    expect(text).to.contain("Because.").and.not.contain("<p>since</p>");
    expect(text).to.not.match(/action="[^"]*\/(?:reply|resolve|unresolve|comment)"/);
  });
});

describe("the form that sends history to a webhook again", () => {
  it("says what is wrong with a time, and calls the operation", async () => {
    const body = { url: "https://hooks.example/in", events: { ISSUE_UPDATE: true } };
    const made = await app.post(`${open}/setting/webhook`, { token: anna.token, body });
    expect(made.status, made.text).to.equal(200);
    const at = `${open}/setting/webhook/${made.body["id"]}`;
    const form = `/page${at}/replay`;
    expect((await insider.see(`${at}/delivery`)).text).to.contain(`href="${form}"`);
    const page = await insider.see(form);
    expect(page.text).to.contain('value="ISSUE_UPDATE"').and.not.contain('value="MERGE"');
    const wrong = await insider.submit(page, form, { from: "2026-02-03", to: "2026-02-02" });
    expect(wrong.status).to.equal(422);
    expect(wrong.text).to.contain('id="f-to-error"').and.contain('value="2026-02-03"');
    const times = { from: "2026-02-02", to: "2026-02-03", events: "ISSUE_UPDATE" };
    const done = await insider.submit(wrong, form, times);
    expect([done.status, done.location]).to.deep.equal([303, `${at}/delivery`]);
    const audit = await insider.see(`${open}/audit?kind=WEBHOOK`);
    expect(audit.text).to.contain("Replay");
    expect((await bob.see(form)).status).to.equal(403);
  });
});
