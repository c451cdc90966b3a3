import { expect } from "chai";

import { endHeldPolls } from "../../../../src/http/protocol/runner/queue.ts";
import { newToken } from "../../../../src/platform/key/token.ts";
import { givenAgent, info } from "../../../support/agent/agent.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { agentTalk, heldPoll, type TakenJob } from "../../../support/agent/agent-job.ts";
import { eventually } from "../../../support/app/eventually.ts";

const { app, token, at, runners, agent, poll, put, take, begin, patch } = await startAppWithAgent({
  agent: { tag_list: "linux" },
});

let committed = "";
async function givenPipeline(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (file !== committed) await at.commit({ ".forge-ci.yaml": file });
  committed = file;
  return at.start();
}

const oneJob = "build:\n  script: [make]\n";
const jobOf = async (pipeline: Readonly<Record<string, unknown>>, name = "build") =>
  (await at.jobs(pipeline["localId"])).find((job) => job["name"] === name) ?? {};
const logOf = (job: Readonly<Record<string, unknown>>, headers = {}) =>
  app.get(`${at.base}/cicd/job/${job["localId"]}/log`, { token, headers });

describe("asking for a job", () => {
  it("answers the job with all that an agent needs, in the types of the protocol", async () => {
    const pipeline = await givenPipeline(
      "build:\n  script: [make, test]\n  after_script: [clean]\n  variables: {A: b}\n" +
        "  artifacts: {paths: [out]}\n  timeout: 10m\n",
    );
    const job = await begin();
    expect(Number.isSafeInteger(job.id)).to.equal(true);
    expect(job.token).to.match(/^lfjt_/);
    expect(job).not.to.have.property("run");
    expect(job["git_info"]).to.deep.include({
      ref: "main",
      ref_type: "branch",
      depth: 20,
      sha: pipeline["commitId"],
      refspecs: [
        `+${pipeline["commitId"]}:refs/pipelines/${(job["job_info"] as never)["pipeline_id"]}`,
      ],
    });
    const { repo_url } = job["git_info"] as { repo_url: string };
    expect(repo_url).to.match(/^http:\/\/gitlab-ci-token:lfjt_\w+@127\.0\.0\.1:\d+\/project\/anna/);
    expect(job["steps"]).to.deep.equal([
      {
        name: "script",
        script: ["make", "test"],
        timeout: 600,
        when: "on_success",
        allow_failure: false,
      },
      {
        name: "after_script",
        script: ["clean"],
        timeout: 600,
        when: "always",
        allow_failure: true,
      },
    ]);
    expect(job["artifacts"]).to.deep.equal([
      {
        name: "artifacts",
        untracked: false,
        paths: ["out"],
        exclude: [],
        when: "on_success",
        artifact_type: "archive",
        artifact_format: "zip",
      },
    ]);
    const variables = job["variables"] as { key: string; value: unknown; masked: boolean }[];
    const byKey = new Map(variables.map((variable) => [variable.key, variable]));
    expect(byKey.get("A")?.value).to.equal("b");
    expect(byKey.get("CI_JOB_TOKEN")).to.include({ value: job.token, masked: true, public: false });
    expect(variables.every(({ value }) => typeof value === "string")).to.equal(true);
    for (const key of ["CI_PROJECT_DIR", "CI_BUILDS_DIR", "CI_JOB_STATUS", "CI_JOB_TIMEOUT"]) {
      expect(byKey.has(key), key).to.equal(false);
    }
    expect((await jobOf(pipeline))["status"]).to.equal("RUNNING");
    const jobs = await app.get(`${runners.base}/all/jobs?jobStatus=RUNNING`, { token });
    expect(jobs.body["page"]).to.include({ totalElements: 1 });
    expect((await put(job, { state: "success" })).status).to.equal(200);
    expect((await jobOf(pipeline))["status"]).to.equal("SUCCESS");
  });

  it("is held until a job is queued, and then answered at once", async () => {
    const held = poll();
    const early = await Promise.race([held, new Promise((done) => setTimeout(done, 100, "held"))]);
    expect(early).to.equal("held");
    await givenPipeline(oneJob);
    const queuedAt = Date.now();
    const answer = await held;
    expect(answer.status).to.equal(201);
    // Without news of the job it is held for fifty seconds.
    expect(Date.now() - queuedAt).to.be.below(20_000);
    await put(answer.body as TakenJob, { state: "running" });
    await put(answer.body as TakenJob, { state: "success" });
  });

  it("gives one job to one of many requests at one moment", async () => {
    const others = await Promise.all(
      Array.from({ length: 5 }, () => givenAgent(app, runners, { tag_list: "linux" })),
    );
    const leave = new AbortController();
    const polls = others.map((each) => heldPoll(app, each.token, leave.signal));
    const pipeline = await givenPipeline(oneJob);
    const job = await Promise.any(polls);
    leave.abort();
    const settled = await Promise.allSettled(polls);
    expect(settled.filter(({ status }) => status === "fulfilled")).to.have.length(1);
    await put(job, { state: "running" });
    await put(job, { state: "success" });
    expect((await jobOf(pipeline))["status"]).to.equal("SUCCESS");
  });

  it("gives no job to an agent that lacks its tags, or features that it needs", async () => {
    await givenPipeline(
      "tagged:\n  script: [x]\n  tags: [arm]\n" +
        "report:\n  script: [x]\n  artifacts: {reports: {junit: [a.xml]}}\n" +
        "fits:\n  script: [x]\n  tags: [linux]\n",
    );
    const { upload_multiple_artifacts: _, ...features } = info.features;
    const answer = await poll({ info: { ...info, features } });
    expect((answer.body["job_info"] as { name: string }).name).to.equal("fits");
    const next = await take();
    expect((next["job_info"] as { name: string }).name).to.equal("report");
  });

  it("gives a protected agent jobs of protected branches only", async () => {
    const guard = await givenAgent(app, runners, { access_level: "ref_protected" });
    const talk = agentTalk(app, guard.token);
    const pipeline = await givenPipeline(oneJob);
    const held = talk.poll();
    const job = await begin();
    expect((await jobOf(pipeline))["status"]).to.equal("RUNNING");
    await put(job, { state: "failed", failure_reason: "script_failure", exit_code: 1 });
    expect((await jobOf(pipeline))["status"]).to.equal("FAILED");
    const rule = { tagTemplate: "v*", allowToCreate: "DEVELOPER" };
    const made = await app.post(`${at.base}/tag-protection/create`, { token, body: rule });
    expect(made.status, made.text).to.equal(200);
    const tag = { tagName: "v1", branchName: "main" };
    const tagged = await app.post(`${at.base}/tag/create`, { token, body: tag });
    expect(tagged.status, tagged.text).to.equal(200);
    await at.start({ refName: "v1", isTag: true });
    const taken = await held;
    expect(taken.status).to.equal(201);
    await talk.put(taken.body as TakenJob, { state: "running" });
    await talk.put(taken.body as TakenJob, { state: "success" });
  });

  it("answers 204 to an inactive agent and 403 to a token that is not valid", async () => {
    const idle = await givenAgent(app, runners, { paused: true });
    const answer = await agentTalk(app, idle.token).poll();
    expect(answer.status).to.equal(204);
    expect(answer.headers.get("x-gitlab-last-update")).to.be.a("string").that.is.not.equal("");
    expect((await agentTalk(app, newToken("lfag")).poll()).status).to.equal(403);
    expect((await agentTalk(app, token).poll()).status).to.equal(403);
  });

  it("gives nothing to an agent that is paused or removed while its request is held", async () => {
    const paused = await givenAgent(app, runners, { tag_list: "held" });
    const removed = await givenAgent(app, runners, { tag_list: "held" });
    const held = [paused, removed].map((each) => agentTalk(app, each.token).poll());
    await eventually(async () => {
      const contacts = [paused, removed].map(({ id }) =>
        app.get(`${runners.base}/${id}`, { token }),
      );
      return (await Promise.all(contacts)).every(({ body }) => body["connectedAt"] !== null);
    });
    await app.post(`${runners.base}/${paused.id}/shutdown`, { token });
    await app.delete(`${runners.base}/${removed.id}`, { token });
    const pipeline = await givenPipeline("build:\n  script: [make]\n  tags: [held]\n");
    const statuses = (await Promise.all(held)).map(({ status }) => status);
    expect(statuses).to.deep.equal([204, 403]);
    await app.post(`${at.base}/cicd/pipeline/${pipeline["localId"]}/cancel`, { token });
  });

  it("claims nothing for an agent that has gone", async () => {
    const leave = new AbortController();
    const gone = fetch(`${app.url}/api/v4/jobs/request`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: agent.token, info }),
      signal: leave.signal,
    }).catch(() => "gone");
    await eventually(async () => {
      const contact = await app.get(`${runners.base}/${agent.id}`, { token });
      return contact.body["connectedAt"] !== null;
    });
    leave.abort();
    expect(await gone).to.equal("gone");
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    expect((await jobOf(pipeline))["status"]).to.equal("RUNNING");
    await put(job, { state: "success" });
  });
});

describe("the update of a job", () => {
  it("fails a job for the reason that the agent gives", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    await put(job, { state: "failed", failure_reason: "no such reason", exit_code: 3 });
    const failed = { status: "FAILED", failureReason: "unknown_failure" };
    expect(await jobOf(pipeline)).to.include(failed);
    const row = await app.deps.db("pipeline_job").where({ status: "FAILED", exit_code: 3 }).first();
    expect(row).to.include({ failure_reason: "unknown_failure", exit_code: 3 });
  });

  it("is recorded as done by the agent, which the audit names", async () => {
    const job = await jobOf(await givenPipeline(oneJob));
    const taken = await begin();
    await put(taken, { state: "running" });
    await put(taken, { state: "success" });
    const query = `subject=${job["id"]}&type=JobStarted,JobSucceeded`;
    const { body } = await app.get(`${at.base}/audit?${query}`, { token });
    const { auditEntryList } = body["_embedded"] as { auditEntryList: readonly object[] };
    const actor = { userId: null, alias: null, via: "agent" };
    expect(auditEntryList).to.have.length(2);
    for (const entry of auditEntryList) {
      expect(entry).to.deep.include({ actor, tokenName: "agent" });
    }
  });

  it("is refused once the job has ended, and changes nothing", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    expect((await put(job, { state: "success" })).status).to.equal(200);
    const head = await app.head();
    for (const state of ["success", "failed", "running"]) {
      const again = await put(job, { state });
      expect(again.status).to.equal(403);
      expect(again.headers.get("job-status")).to.equal("success");
    }
    expect((await patch(job, 0, "late")).status).to.equal(403);
    expect(await app.head()).to.equal(head);
    expect((await jobOf(pipeline))["status"]).to.equal("SUCCESS");
  });

  it("is refused with the token of another job, of an agent or of a user", async () => {
    await givenPipeline("one:\n  script: [x]\ntwo:\n  script: [x]\n");
    const [one, two] = [await begin(), await begin()];
    const head = await app.head();
    for (const wrong of [two.token, agent.token, token, newToken("lfjt"), ""]) {
      expect((await put(one, { state: "success" }, wrong)).status).to.equal(403);
      expect((await patch({ ...one, token: wrong }, 0, "x")).status).to.equal(403);
    }
    expect((await put({ ...one, id: 2 ** 50 }, { state: "success" })).status).to.equal(403);
    expect(await app.head()).to.equal(head);
    await put(one, { state: "success" });
    await put(two, { state: "success" });
  });

  it("reports to the agent that its job was canceled, whatever it says afterwards", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    const { localId } = await jobOf(pipeline);
    const canceled = await app.post(`${at.base}/cicd/job/${localId}/cancel`, { token });
    expect(canceled.status, canceled.text).to.equal(200);
    const touched = await put(job, { state: "running" });
    expect([touched.status, touched.headers.get("job-status")]).to.deep.equal([403, "canceled"]);
    const sent = await patch(job, 0, "more");
    expect([sent.status, sent.headers.get("job-status")]).to.deep.equal([403, "canceled"]);
    await put(job, { state: "failed", failure_reason: "job_canceled" });
    expect((await jobOf(pipeline))["status"]).to.equal("CANCELED");
  });

  it("is answered 202 while the end of the log is missing", async () => {
    await givenPipeline(oneJob);
    const job = await begin();
    const final = { state: "success", output: { bytesize: 4 } };
    expect((await put(job, final)).status).to.equal(202);
    expect((await patch(job, 0, "done")).status).to.equal(202);
    expect((await put(job, final)).status).to.equal(200);
  });
});

describe("an agent that confirms no job", () => {
  it("has taken it with the first piece of the log, or its end", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await take();
    expect((await patch(job, 0, "begun\n")).status).to.equal(202);
    expect((await jobOf(pipeline))["status"]).to.equal("RUNNING");
    expect((await put(job, { state: "success", output: { bytesize: 6 } })).status).to.equal(200);
    const quick = await givenPipeline(oneJob);
    expect((await put(await take(), { state: "success" })).status).to.equal(200);
    expect((await jobOf(quick))["status"]).to.equal("SUCCESS");
  });
});

describe("the log of a job", () => {
  it("grows by pieces that fit, and answers 416 with the next offset to others", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    const snow = Buffer.from("a ☃\n");
    const first = await patch(job, 0, snow.subarray(0, 3));
    expect([first.status, first.headers.get("range")]).to.deep.equal([202, "0-3"]);
    expect(first.headers.get("x-gitlab-trace-update-interval")).to.equal("10");
    for (const [from, data] of [
      [0, "a \xe2"],
      [9, "gap"],
      [2, "overlap"],
    ] as const) {
      const answer = await patch(job, from, data);
      expect([answer.status, answer.headers.get("range")]).to.deep.equal([416, "0-3"]);
    }
    for (const range of ["", "3", "3-", "bytes 3-5/6", "3-100", "5-3", "-1-2"]) {
      expect((await patch(job, 3, "xyz", range)).status, range).to.equal(400);
    }
    const both = await Promise.all([
      patch(job, 3, snow.subarray(3)),
      patch(job, 3, snow.subarray(3)),
    ]);
    expect(both.map(({ status }) => status).sort()).to.deep.equal([202, 416]);
    await put(job, { state: "success" });
    const log = await logOf(await jobOf(pipeline));
    expect(log.text).to.equal("a ☃\n");
    expect(log.headers.get("content-type")).to.equal("text/plain; charset=utf-8");
    const part = await logOf(await jobOf(pipeline), { range: "bytes=2-4" });
    expect([part.status, part.text]).to.deep.equal([206, "☃"]);
  });

  it("is sent more often to a user who reads it, also before its first piece", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    expect((await logOf(await jobOf(pipeline))).text).to.equal("");
    const first = await patch(job, 0, "a\n");
    expect(first.headers.get("x-gitlab-trace-update-interval")).to.equal("3");
    await put(job, { state: "success" });
  });

  it("never shows a masked value that is cut between two pieces, or its base64", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    const encoded = Buffer.from(`x${job.token}`).toString("base64");
    const text = `token ${job.token} and ${encoded}!\n`;
    for (let from = 0; from < text.length; from += 20) {
      expect((await patch(job, from, text.slice(from, from + 20))).status).to.equal(202);
      const shown = (await logOf(await jobOf(pipeline))).text;
      expect(shown).not.to.include(job.token.slice(0, 20));
    }
    await put(job, { state: "success" });
    const { text: shown } = await logOf(await jobOf(pipeline));
    expect(shown).to.have.length(text.length);
    expect(shown).to.match(/^token \[MASKED\]\*+ and .{1,3}\[MASKED\]\*+.{0,3}!\n$/);
  });

  it("is followed by server-sent events, from the byte that was seen last", async () => {
    const pipeline = await givenPipeline(oneJob);
    const job = await begin();
    await patch(job, 0, "one\n");
    const { localId } = await jobOf(pipeline);
    const following = app.get(`${at.base}/cicd/job/${localId}/log/stream`, { token });
    await patch(job, 4, "two\n");
    await put(job, { state: "success" });
    const { text, headers } = await following;
    expect(headers.get("content-type")).to.equal("text/event-stream");
    const data = [...text.matchAll(/^data: (".*")$/gm)].map(([, json = ""]) => JSON.parse(json));
    expect(data.join("")).to.equal("one\ntwo\n");
    expect(text.endsWith("event: end\nid: 8\ndata:\n\n")).to.equal(true);
    const rest = await app.get(`${at.base}/cicd/job/${localId}/log/stream`, {
      token,
      headers: { "last-event-id": "4" },
    });
    expect(rest.text).to.include('id: 8\ndata: "two\\n"').and.not.include("one");
  });
});

describe("the end of the process", () => {
  it("answers agents that wait", async () => {
    const held = poll();
    await eventually(async () => {
      const rows = await app.deps.db("public.agent_contact").where({ agent_id: agent.id });
      return rows.length > 0;
    });
    endHeldPolls(app.deps.onChange);
    expect((await held).status).to.equal(204);
  });
});
