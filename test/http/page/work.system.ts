import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { pipelineGraph } from "../../../src/http/page/pipeline/graph.ts";
import { artifactTable } from "../../../src/http/page/pipeline/pipeline-page.ts";
import { appendLog, beginRun } from "../../../src/platform/job-log/store.ts";
import type { JobRow } from "../../../src/projections/pipeline/table.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { committed, loggedIn, type Visitor, visitor } from "../../support/app/site-world.ts";

const app = await startTestApp({ workers: true });
const open = "/project/anna/open";
const hidden = "/project/anna/hidden";

let anna: TestUser;
let token: string;
let insider: Visitor;
let bob: Visitor;
let stranger: Visitor;
before(async () => {
  anna = await app.givenUser("anna");
  token = anna.token;
  await app.givenProject(anna, "open", { private: false });
  await app.givenProject(anna, "hidden");
  await committed(app, anna, open, { "README.md": "# Open", "a.txt": "one\ntwo\n" });
  await committed(app, anna, hidden, { "README.md": "# Hidden" });
  insider = await loggedIn(app, anna);
  bob = await loggedIn(app, await app.givenUser("bob"));
  stranger = visitor(app);
});

/** Posts and expects success. */
async function given(at: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await app.post(at, { token, body });
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}

const marked = "**bold** <script>alert(1)</script> [x](javascript:alert(1))";

describe("pages of issues", () => {
  before(async () => {
    await given(`${open}/label`, { title: "bug <b>", hexColor: "#cf222e" });
    const labels = [{ title: "bug <b>" }];
    await given(`${open}/issue`, { title: "Broken <i>", description: marked, labels });
    await given(`${hidden}/issue`, { title: "Secret", description: "secret" });
  });

  it("list issues, and filter them", async () => {
    const { text } = await insider.see(`${open}/issue`);
    expect(text).to.contain("#1 Broken &lt;i&gt;").and.contain("bug &lt;b&gt;");
    expect((await insider.see(`${open}/issue?status=CLOSED&q=`)).text).to.contain("No issues.");
    expect((await insider.see(`${open}/issue?status=NONE`)).status).to.equal(422);
  });

  it("show an issue with its text and comments, and take comments", async () => {
    const page = await insider.see(`${open}/issue/1`);
    expect(page.text).to.contain("<strong>bold</strong>").and.not.contain("<script>alert");
    const form = `/page${open}/issue/1/comment`;
    const sent = await insider.submit(page, form, {
      text: "Me _too_ <img src=x onerror=alert(1)>",
    });
    expect([sent.status, sent.location]).to.deep.equal([303, `${open}/issue/1`]);
    const after = await insider.see(`${open}/issue/1`);
    expect(after.text)
      .to.contain("Me <em>too</em>")
      .and.not.match(/<[^>]* onerror=/);
  });

  it("close and open an issue for those who may", async () => {
    const form = `/page${open}/issue/1/status`;
    const close = async (who: Visitor) => who.submit(await who.see(`${open}/issue/1`), form);
    const { text } = await bob.see(`${open}/issue/1`);
    expect(text).to.contain("/comment").and.not.contain("/edit").and.not.contain(form);
    const fields = { csrf: csrfOf(text), status: "CLOSED" };
    expect((await bob.post(form, fields)).status).to.equal(403);
    expect((await close(insider)).status).to.equal(303);
    expect((await insider.see(`${open}/issue/1`)).text).to.contain("Reopen issue");
    expect((await close(insider)).status).to.equal(303);
    expect((await insider.see(`${open}/issue/1`)).text).to.contain("Close issue");
  });

  it("reveal nothing about issues of a project they may not read", async () => {
    const there = await bob.see(`${hidden}/issue/1`);
    const missing = await bob.see("/project/anna/missing/issue/1");
    expect([there.status, there.text]).to.deep.equal([404, missing.text]);
    expect((await stranger.see(`${hidden}/issue/1`)).status).to.equal(303);
    expect((await stranger.see(`${open}/issue/1`)).status).to.equal(303);
    const fields = { csrf: csrfOf((await bob.see("/console")).text), text: "x" };
    const posted = await bob.post(`/page${hidden}/issue/1/comment`, fields);
    expect(posted.status).to.equal(404);
  });
});

const csrfOf = (text: string): string => /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";

describe("pages of merge requests", () => {
  const at = `${open}/merge-request/1`;
  before(async () => {
    const changed = { "a.txt": "one\nzwei\n" };
    const from = { branch: "feature", startBranch: "main", action: "UPDATE" };
    await committed(app, anna, open, changed, from);
    await committed(app, anna, open, { "b.ts": "export const b = 1;\n" }, { branch: "feature" });
    await given(`${open}/merge-request`, {
      title: "Add <b>",
      description: marked,
      sourceBranch: { id: "feature" },
      targetBranch: { id: "main" },
    });
  });

  it("list merge requests", async () => {
    const { text } = await insider.see(`${open}/merge-request/list`);
    expect(text).to.contain("!1 Add &lt;b&gt;").and.contain("feature → main");
    expect((await insider.see(`${open}/merge-request`)).location).to.equal(
      `${open}/merge-request/list`,
    );
  });

  it("show one with its requirements, changes and commits", async () => {
    const { text } = await insider.see(at);
    expect(text).to.contain("It can be merged").and.contain("There are no conflicts");
    const other = await bob.see(at);
    expect(other.text).to.contain("It cannot be merged yet").and.contain('class="unmet"');
    const changes = await insider.see(`${at}/changes`);
    expect(changes.text).to.contain("2 files changed").and.contain("zwei");
    expect(changes.text).to.contain("hljs-keyword");
    expect((await insider.see(`${at}/changes?filePath=a.txt`)).text).to.contain("zwei");
    expect((await insider.see(`${at}/commits`)).text).to.contain("Change &lt;b&gt;");
  });

  it("take comments, replies and what settles them", async () => {
    const comment = await insider.submit(await insider.see(at), `/page${at}/comment`, {
      text: "Why _so_?",
    });
    expect(comment.location).to.equal(at);
    const reply = await bob.submit(await bob.see(at), `/page${at}/reply`, { text: "Because." });
    expect(reply.status).to.equal(303);
    const resolved = await insider.submit(await insider.see(at), `/page${at}/resolve`);
    expect(resolved.status).to.equal(303);
    const { text } = await insider.see(at);
    expect(text)
      .to.contain("Why <em>so</em>?")
      .and.contain("Because.")
      .and.contain("Take up again");
  });

  it("show one discussion alone with all of its replies", async () => {
    const { uuid } = await given(`${at}/discussions/create`, { message: "Long talk" });
    const reply = { discussionUuid: uuid, message: "Answer 1." };
    await given(`${at}/discussions/reply`, reply);
    const { text } = await insider.see(`${at}?discussion=${uuid}`);
    expect(text).to.contain("Answer 1.").and.not.contain("Why <em>");
    expect((await insider.see(`${at}?discussion=${randomUUID()}`)).status).to.equal(404);
  });

  it("show on which line a discussion stands", async () => {
    const line = { newLine: 2, oldLine: 0, newPath: "a.txt", oldPath: "a.txt" };
    await given(`${at}/discussions/create`, { message: "This one", ...line });
    expect((await insider.see(at)).text).to.contain(">a.txt</a>, line 2");
  });

  it("close, open, approve and merge", async () => {
    const press = async (verb: string, fields = {}) =>
      insider.submit(await insider.see(at), `/page${at}/${verb}`, fields);
    expect((await press("close")).status).to.equal(303);
    expect((await press("reopen")).status).to.equal(303);
    expect((await press("approve")).status).to.equal(303);
    expect((await insider.see(at)).text).to.match(/Approved by<\/dt><dd><a href="\/user\/anna"/);
    const shown = (await bob.see(at)).text;
    expect(shown)
      .to.contain(`/page${at}/comment`)
      .and.not.match(/1\/(?:edit|close|approve|merge)"/);
    for (const verb of ["close", "approve", "merge"]) {
      const { status } = await bob.post(`/page${at}/${verb}`, { csrf: csrfOf(shown) });
      expect(status, verb).to.be.oneOf([403, 422]);
    }
    const merged = await press("merge", { removeSourceBranch: "true" });
    expect([merged.status, merged.location]).to.deep.equal([303, at]);
    // The branch is removed after the answer.
    const text = await eventually(async () => {
      const page = await insider.see(at);
      return page.text.includes("(deleted)") ? page.text : undefined;
    });
    expect(text).to.contain('class="status s-merged"');
  });

  it("say why one cannot be merged where the requirement alone does not", async () => {
    for (const branch of ["waiting", "target"]) {
      await committed(
        app,
        anna,
        open,
        { [`${branch}.txt`]: "x\n" },
        { branch, startBranch: "main" },
      );
    }
    const { localId } = await given(`${open}/merge-request`, {
      title: "Nowhere to go",
      sourceBranch: { id: "waiting" },
      targetBranch: { id: "target" },
    });
    await app.delete(`${open}/branch?branchName=target`, { token });
    const { text } = await insider.see(`${open}/merge-request/${localId}`);
    expect(text).to.contain("The target branch target does not exist");
  });
});

describe("pages of pipelines", () => {
  const project = "/project/anna/ci";
  const file = `
stages: [build, test]
compile <b>: {stage: build, script: make}
unit: {stage: test, needs: ["compile <b>"], script: make test, environment: {name: review/a, url: "https://a.example/"}}
later: {stage: test, script: make lint, when: manual}
`;
  let ci: ReturnType<typeof pipelinesOf>;
  let job: JobRow;
  const log = async (first: number, text: string) =>
    appendLog(
      app.deps.db,
      { job_id: job.id, attempt: job.attempt },
      { first, data: Buffer.from(text), forms: [] },
    );
  before(async () => {
    ci = pipelinesOf(app, anna, await app.givenProject(anna, "ci"));
    await ci.commit({ ".forge-ci.yaml": file });
    job = await eventually(async () => {
      const row = await ci.claim();
      if (row === undefined) throw new Error("no job is queued");
      return row;
    }, 40_000);
    await ci.report(job, "RecordJobStarted");
    const run = { job_id: job.id, attempt: job.attempt, project_id: job.project_id };
    await beginRun(app.deps.db, {
      ...run,
      agent_id: ci.agentId,
      token_hash: "x",
      contact_at: new Date(),
      given_position: 1n,
    });
  });

  it("show the stages and jobs as a drawing and as a table", async () => {
    expect((await insider.see(`${project}/cicd`)).location).to.equal(`${project}/cicd/pipeline`);
    expect((await insider.see(`${project}/cicd/pipeline`)).text).to.contain("#1</a>");
    const { text, headers } = await insider.see(`${project}/cicd/pipeline/1`);
    expect(text).to.contain("<svg").and.contain('class="edge"').and.contain("compile &lt;b&gt;");
    expect(text).to.contain(`data-live-status="/page${project}/cicd/pipeline/1/live"`);
    expect(headers.get("content-security-policy"))
      .to.contain("script-src 'self';")
      .and.not.contain("unsafe");
  });

  it("offer the start of a job only where it waits for a user or a time", async () => {
    const waiting = (await ci.jobs(1)).find(({ name }) => name === "unit");
    const at = `${project}/cicd/job/${waiting?.["localId"]}`;
    expect((await insider.see(at)).text)
      .to.contain(">Cancel<")
      .and.not.contain(">Start<");
    const until = new Date("2040-01-02T03:04:00.000Z");
    const row = app.deps.db("pipeline_job").where({ id: waiting?.["id"] });
    await row.clone().update({ delayed_until: until });
    const { text } = await insider.see(at);
    await row.clone().update({ delayed_until: null });
    expect(text).to.contain(">Start<").and.contain("2040-01-02 03:04 UTC");
  });

  it("show a log with colours, sections and line links, and follow it", async () => {
    const at = `${project}/cicd/job/${job.local_id}`;
    const text =
      "one <i>\n\u001b[31mred\u001b[0m\nsection_start:1:prepare[collapsed=true]\r\u001b[0KPrepare\ninside\nsection_end:1:prepare\r\u001b[0K\nhalf";
    await log(0, text);
    const page = await insider.see(at);
    expect(page.text)
      .to.contain('id="L1"')
      .and.contain("one &lt;i&gt;")
      .and.contain('<span class="f1">red</span>');
    expect(page.text).to.contain("<details><summary>Prepare</summary>").and.not.contain("half");
    const live = /data-live-log="([^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const cookie = [...insider.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(app.url + live, { headers: { cookie } });
    expect(answer.headers.get("content-type")).to.equal("text/event-stream");
    await log(Buffer.byteLength(text), " <b>\nlast\n");
    await ci.report(job, "RecordJobSucceeded");
    const events = await answer.text();
    expect(events)
      .to.contain("half &lt;b&gt;")
      .and.contain(">6</a>")
      .and.contain("last")
      .and.contain("event: end");
    expect((await insider.see(at)).text).to.contain("last");
    expect((await bob.open(live)).status).to.equal(404);
    expect((await stranger.open(live)).status).to.equal(303);
    expect((await insider.see(`${at}/log`)).headers.get("content-type")).to.contain("text/plain");
  });

  it("show the pipelines of a commit, and what outside systems report of it, on its page", async () => {
    const { commitId } = (await app.get(`${project}/cicd/pipeline/1`, { token: anna.token })).body;
    const body = { status: "FAILED", name: "out <b>", targetUrl: "https://ci.example/?a=1&b" };
    const at = `${project}/commit/${commitId}`;
    await app.post(`${at}/status`, { token: anna.token, body: { ...body, description: "d <i>" } });
    const { text } = await insider.see(at);
    const pipeline = `href="${project}/cicd/pipeline/1">Pipeline #1</a>`;
    expect(text).to.contain(pipeline).and.contain("s-running").and.contain("s-failed");
    expect(text).to.contain(">out &lt;b&gt;</a>").and.contain("d &lt;i&gt;");
    expect(text).to.contain('href="https://ci.example/?a=1&amp;b" rel="nofollow noreferrer"');
  });

  it("keep all filters of a list, and say when nothing matches them", async () => {
    const list = `${project}/cicd/pipeline`;
    const all = await insider.see(`${list}?branch=main&tag=&status=`);
    expect(all.text).to.contain("#1</a>").and.contain('name="branch" value="main"');
    for (const path of [
      `${list}?tag=main`,
      `${list}?branch=%3Ci%3E`,
      `${project}/environment?q=x`,
    ]) {
      const { text } = await insider.see(path);
      const way = `matches the filter. <a href="${path.replace(/\?.*/, "")}">Show all</a>`;
      expect(text, path).to.contain(way).and.not.contain("<i>");
    }
  });

  it("follow the statuses of a pipeline until it ends", async () => {
    const cookie = [...insider.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(`${app.url}/page${project}/cicd/pipeline/1/live`, {
      headers: { cookie },
    });
    expect(await ci.run()).to.equal("unit");
    const events = await answer.text();
    expect(events).to.contain('"SUCCESS"').and.contain("event: end");
    expect(events).to.match(/event: cells\n.*\n.* started":"<time [^>]*>[^>]*<\/time>"/);
  });

  it("start, cancel and run again", async () => {
    const jobs = await ci.jobs(1);
    const at = `${project}/cicd/job/${jobs.find(({ name }) => name === "later")?.["localId"]}`;
    const press = async (of: string, verb: string) =>
      insider.submit(await insider.see(of), `/page${of}/${verb}`);
    expect((await press(at, "play")).location).to.equal(at);
    expect((await press(at, "cancel")).location).to.equal(at);
    expect((await insider.see(at)).text).to.contain("Run again");
    const whole = `${project}/cicd/pipeline/1`;
    await eventually(async () =>
      expect((await insider.see(whole)).text).to.contain("Run failed jobs again"),
    );
    expect((await press(whole, "restart")).location).to.equal(whole);
    expect((await insider.see(`${whole}/artifacts`)).text).to.contain(">job.log</a>");
    await eventually(async () => expect((await insider.see(at)).text).to.contain(">Start<"));
    expect((await press(at, "play")).location).to.equal(at);
    expect(await ci.run("RecordJobFailed", { message: "No <b>." })).to.equal("later");
    expect((await insider.see(at)).text)
      .to.contain("<dt>Failure</dt><dd>script_failure</dd>")
      .and.contain("<dt>Message</dt><dd>No &lt;b&gt;.</dd>");
  });

  it("list environments with what was deployed last, and stop them", async () => {
    const at = `${project}/environment`;
    expect((await insider.see(`${project}/cicd/pipeline`)).text).to.contain(`href="${at}"`);
    const listed = await eventually(async () => {
      const page = await insider.see(at);
      expect(page.text).to.contain("s-available").and.contain("#1 main");
      return page;
    });
    expect(listed.text).to.contain('<a href="https://a.example/" rel="nofollow noreferrer">');
    expect((await insider.see(`${at}?status=STOPPED&q=`)).text).to.contain("No environments.");
    const one = /href="([^"]+\/environment\/[\da-f-]{36})">review\/a</.exec(listed.text)?.[1] ?? "";
    const shown = await insider.see(one);
    expect(shown.text).to.contain(">unit</a>").and.contain("s-success");
    const stopped = await insider.submit(shown, `/page${one}/stop`);
    expect([stopped.status, stopped.location]).to.deep.equal([303, one]);
    await eventually(async () => expect((await insider.see(one)).text).to.contain("s-stopped"));
    expect((await bob.see(at)).status).to.equal(404);
  });

  it("draw a pipeline of a thousand jobs", async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `job ${index}`);
    const rows = names.map((name, index) => ({
      ...{
        id: String(index),
        local_id: index,
        name,
        stage: `stage ${index % 10}`,
        stage_index: index % 10,
      },
      ...{ needs: index % 10 === 0 ? null : [`job ${index - 1}`], status: "RUNNING" as const },
    }));
    const { markup } = pipelineGraph(rows as never, (id) => `/job/${id}`);
    expect(markup.match(/<rect/g)).to.have.length(1_000);
    expect(markup.match(/class="edge"/g)).to.have.length(900);
    expect(markup.length).to.be.lessThan(600_000);
  });

  it("say where there are no artifacts what makes some", () => {
    expect(artifactTable("", []).markup).to.contain("No artifacts.");
  });
});
