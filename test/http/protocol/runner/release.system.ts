import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect } from "chai";

import { placeOfNumber } from "../../../../src/events/pipeline/number.ts";
import { findJobByNumber } from "../../../../src/projections/agent/job.ts";
import { releaseByJob } from "../../../../src/services/pipeline/job-release.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";

const { app, anna, token, at, put, begin, patch } = await startAppWithAgent();
const bob = await app.givenUser("bob");
type Json = Readonly<Record<string, unknown>>;

let committed = "";
async function change(yaml: string, others: Readonly<Record<string, string>> = {}) {
  if (yaml !== committed)
    await at.commit({ ".forge-ci.yaml": yaml, ...others }, "Change [skip ci]");
  committed = yaml;
}

async function begun(yaml: string, others: Readonly<Record<string, string>> = {}) {
  await change(yaml, others);
  const { localId, commitId } = await at.start();
  return { commitId, localId, job: await begin() };
}

const releases = async (): Promise<readonly Json[]> => {
  const { body } = await app.get(`${at.base}/release`, { token });
  return (body["_embedded"] as { releaseTagModelList: Json[] }).releaseTagModelList;
};
const only = async (localId: unknown) => (await at.jobs(localId))[0]!;
const logOf = async (localId: unknown) => {
  const { localId: job } = await only(localId);
  return (await app.get(`${at.base}/cicd/job/${job}/log`, { token })).text;
};

describe("a job with a release", () => {
  it("makes it and its tag when it succeeds, once, with its variables filled in", async () => {
    const secret = { key: "SECRET", value: "hush-hush-hush", mask: true };
    const set = await app.post(`${at.base}/setting/cicd/variable`, { token, body: secret });
    expect(set.status, set.text).to.equal(200);
    const yaml = `
ship:
  script: x
  variables: {VERSION: "1.2"}
  release:
    tag_name: v$VERSION
    tag_message: Version $VERSION
    name: "Search $VERSION"
    description: ./CHANGES.md
    assets: {links: [{name: Site, url: "https://example.com/$VERSION?x=$SECRET"}]}
`;
    const { commitId, localId, job } = await begun(yaml, { "CHANGES.md": "# All new\n" });
    await patch(job, 0, "made");
    // A service that died after it made the release receives again that the job has succeeded.
    const row = await findJobByNumber(app.deps.db, placeOfNumber(job.id));
    expect((await releaseByJob(app.deps, row!, job.token))?.isCreated).to.equal(true);
    expect((await put(job, { state: "success" })).status).to.equal(200);
    const [made, ...others] = await releases();
    expect(others).to.deep.equal([]);
    expect(made).to.deep.include({
      title: "Search 1.2",
      tagName: "v1.2",
      commitId,
      authorId: anna.id,
      description: "# All new\n\n\n- [Site](<https://example.com/1.2?x=>)",
    });
    expect(await only(localId)).to.include({ status: "SUCCESS" });
    expect(await logOf(localId)).to.equal("made\nRelease of the tag v1.2 created.\n");
    const tag = await app.get(`${at.base}/tag/v1.2`, { token });
    expect(tag.text).to.include("Version 1.2");
  });

  it("fails where the release is refused, and says why at the end of its log", async () => {
    const again = await begun("a: {script: x, release: {tag_name: v1.2, description: Again}}");
    expect((await put(again.job, { state: "success" })).headers.get("job-status")).to.equal(
      "failed",
    );
    expect(await only(again.localId)).to.include({ status: "FAILED" });
    expect(await logOf(again.localId)).to.include("The tag already has a release.");

    const odd = await begun("a: {script: x, release: {tag_name: $NONE, description: Odd}}");
    await put(odd.job, { state: "success" });
    expect(await only(odd.localId)).to.include({ status: "FAILED" });
    expect(await logOf(odd.localId)).to.include("no name of a tag");
    const failed = await begun("a: {script: x, release: {tag_name: v3, description: None}}");
    await put(failed.job, { state: "failed" });
    expect(await releases()).to.have.length(1);
  });

  it("is refused in the pipeline of a tag that makes another, and without a repository", async () => {
    const { job: first } = await begun(
      "a: {script: x, release: {tag_name: v9, description: Nine}}",
    );
    const row = await findJobByNumber(app.deps.db, placeOfNumber(first.id));
    const git = { ...app.deps.git, find: async () => undefined };
    const refused = await releaseByJob({ ...app.deps, git }, row!, first.token);
    expect(refused)
      .to.include({ isCreated: false })
      .and.have.property("line")
      .that.includes("is empty");
    await put(first, { state: "failed" });
    const tag = { tagName: "started", commitId: await at.commit({ "a.txt": "a" }, "A [skip ci]") };
    const tagged = await app.post(`${at.base}/tag/create`, { token, body: tag });
    expect(tagged.status, tagged.text).to.equal(200);
    const { localId } = await at.start({ refName: "started", isTag: true });
    await put(await begin(), { state: "success" });
    expect(await only(localId)).to.include({ status: "FAILED" });
    expect(await logOf(localId)).to.include("The pipeline of a tag makes no other tag.");
    expect((await app.get(`${at.base}/tag/v9`, { token })).status).to.equal(404);
  });

  it("has the rights of who started it, as they are when it ends", async () => {
    const invited = { userAlias: bob.alias, role: "DEVELOPER" };
    await app.post(`${at.base}/member/invite`, { token, body: invited });
    await change("a: {script: x, release: {tag_name: v4, description: Four}}");
    const started = await app.post(`${at.base}/cicd/pipeline/start`, {
      token: bob.token,
      body: {},
    });
    expect(started.status, started.text).to.equal(200);
    const job = await begin();
    const gone = await app.delete(`${at.base}/member/${bob.alias}`, { token });
    expect(gone.status, gone.text).to.equal(200);
    await put(job, { state: "success" });
    expect(await only(started.body["localId"])).to.include({ status: "FAILED" });
    expect(await releases()).to.have.length(1);
  });
});

const anyJob = "a: {script: x}";

describe("the token of a job", () => {
  const header = (job: Readonly<{ token: string }>) => ({ "job-token": job.token });

  it("makes and reads releases of its project while the job runs, in the name of who started it", async () => {
    const { job, localId } = await begun(anyJob);
    const headers = header(job);
    const body = { title: "By a job", tagName: "v5", description: "Five" };
    const made = await app.post(`${at.base}/release`, { headers, body });
    expect(made.status, made.text).to.equal(200);
    expect(made.body).to.include({ title: "By a job", authorId: anna.id });
    const one = `${at.base}/release/${made.body["id"]}`;
    for (const proof of [headers, { authorization: `Bearer ${job.token}` }]) {
      expect((await app.get(one, { headers: proof })).status).to.equal(200);
    }
    // The person may; the token of the job is not for it.
    expect((await app.delete(one, { headers })).status).to.equal(403);
    expect((await app.get(`${at.base}/issue`, { headers })).status).to.equal(403);
    await app.givenProject(anna, "elsewhere");
    const elsewhere = await app.get("/project/anna/elsewhere/release", { headers });
    expect([elsewhere.status, elsewhere.body["code"]]).to.deep.equal([403, "job.token_scope"]);
    await put(job, { state: "success" });
    expect(await only(localId)).to.include({ status: "SUCCESS" });
    const late = await app.get(one, { headers });
    expect([late.status, late.body["code"]]).to.deep.equal([403, "auth.token_invalid"]);
  });

  it("makes tags on the commit of its pipeline only, and none in the pipeline of a tag", async () => {
    const first = await at.commit({ "first.txt": "1" }, "First [skip ci]");
    const { commitId, job } = await begun(`# of its own commit\n${anyJob}`);
    const later = await at.commit({ "later.txt": "2" }, "Later [skip ci]");
    const headers = header(job);
    const release = (tagName: string, over = {}) =>
      app.post(`${at.base}/release`, { headers, body: { title: tagName, tagName, ...over } });
    for (const other of [first, later]) {
      const refused = await release("v6", { commitId: other });
      expect([refused.status, refused.body["code"]]).to.deep.equal([422, "release.job_commit"]);
    }
    const made = await release("v6");
    expect([made.status, made.body["commitId"]], made.text).to.deep.equal([200, commitId]);
    const moved = await app.put(`${at.base}/release/${made.body["id"]}`, {
      headers,
      body: { tagName: "v6.1" },
    });
    expect([moved.status, moved.body["commitId"]], moved.text).to.deep.equal([200, commitId]);
    await put(job, { state: "success" });

    const tagged = await app.post(`${at.base}/tag/create`, {
      token,
      body: { tagName: "v7", commitId },
    });
    expect(tagged.status, tagged.text).to.equal(200);
    await at.start({ refName: "v7", isTag: true });
    const ofTag = await begin();
    const proof = { headers: header(ofTag) };
    const another = await app.post(`${at.base}/release`, {
      ...proof,
      body: { title: "Eight", tagName: "v8" },
    });
    expect([another.status, another.body["code"]]).to.deep.equal([422, "release.no_tag"]);
    const own = await app.post(`${at.base}/release`, {
      ...proof,
      body: { title: "Seven", tagName: "v7" },
    });
    expect(own.status, own.text).to.equal(200);
    const away = await app.put(`${at.base}/release/${own.body["id"]}`, {
      ...proof,
      body: { tagName: "v8" },
    });
    expect([away.status, away.body["code"]]).to.deep.equal([422, "release.no_tag"]);
    await put(ofTag, { state: "success" });
  });

  it("is not given the answers that are kept for the person", async () => {
    const { job } = await begun(anyJob);
    const body = { title: "Mine", tagName: "mine" };
    const key = { "idempotency-key": "same-key" };
    const mine = await app.post(`${at.base}/release`, { token, body, headers: key });
    expect(mine.status, mine.text).to.equal(200);
    const asJob = await app.post(`${at.base}/release`, {
      body,
      headers: { ...key, ...header(job) },
    });
    expect(asJob.text).not.to.include(mine.body["id"]);
    expect([asJob.status, asJob.body["code"]]).to.deep.equal([422, "release.tag_taken"]);
    await put(job, { state: "success" });
  });

  it("pushes and pulls images of its project, with a token that ends with the job", async () => {
    const repositories = repositoriesAt(app, `${at.base}/repositories`, token);
    await repositories.local("images", "container");
    const { job } = await begun(anyJob);
    const basic = Buffer.from(`gitlab-ci-token:${job.token}`).toString("base64");
    const exchanged = (name: string) =>
      fetch(`${app.url}/v2/token?scope=repository:${name}:pull,push`, {
        headers: { authorization: `Basic ${basic}` },
      });
    const image = "anna/search/images/tool";
    const { token: granted } = (await (await exchanged(image)).json()) as { token: string };
    const headers = { authorization: `Bearer ${granted}` };
    const digest = `sha256:${createHash("sha256").update("layer").digest("hex")}`;
    const upload = `${app.url}/v2/${image}/blobs/uploads/?digest=${digest}`;
    const pushed = await fetch(upload, { method: "POST", headers, body: "layer" });
    expect(pushed.status, await pushed.text()).to.equal(201);
    const pull = () => fetch(`${app.url}/v2/${image}/blobs/${digest}`, { headers });
    expect((await pull()).status).to.equal(200);
    await put(job, { state: "success" });
    expect((await pull()).status).to.equal(401);
    expect((await exchanged(image)).status).to.equal(401);
  });

  it("stores packages as long as who started the job may", async () => {
    const repositories = repositoriesAt(app, `${at.base}/repositories`, token);
    await repositories.local("files", "generic", { hasAnonymousAccess: true });
    const invited = { userAlias: bob.alias, role: "DEVELOPER" };
    const joined = await app.post(`${at.base}/member/invite`, { token, body: invited });
    expect(joined.status, joined.text).to.equal(200);
    await change(anyJob);
    await app.post(`${at.base}/cicd/pipeline/start`, { token: bob.token, body: {} });
    const job = await begin();
    const store = (version: number) =>
      fetch(`${app.url}/registry${at.base}/repository/files/tool/${version}/a`, {
        method: "PUT",
        headers: header(job),
        body: "content",
      });
    expect((await store(1)).status).to.equal(201);
    const stored = `${app.url}/registry${at.base}/repository/files/tool/1/a`;
    expect((await fetch(stored)).status, "anybody may").to.equal(200);
    await app.delete(`${at.base}/member/${bob.alias}`, { token });
    expect((await store(2)).status).to.equal(403);
    const own = await app.get(`${at.base}/repositories`, { headers: header(job) });
    expect(own.status).to.equal(403);
    await put(job, { state: "success" });
    expect((await fetch(stored, { headers: header(job) })).status).to.equal(401);
  });
});

describe("a job that deploys", () => {
  const yaml = `
ship:
  script: x
  environment: {name: production, url: "https://$PLACE.example.com/$SECRET"}
  artifacts: {reports: {dotenv: [deploy.env]}}
`;
  const addressAfter = async (report: string): Promise<unknown> => {
    const { job } = await begun(yaml);
    const form = new FormData();
    form.set("file", new Blob([gzipSync(report)]), ".env.gz");
    const url = `${app.url}/api/v4/jobs/${job.id}/artifacts?artifact_type=dotenv`;
    const stored = await fetch(url, {
      method: "POST",
      headers: { "job-token": job.token },
      body: form,
    });
    expect(stored.status, await stored.text()).to.equal(201);
    await put(job, { state: "success" });
    const { body } = await app.get(`${at.base}/environment`, { token });
    const [shown] = (body["_embedded"] as { environmentList: Json[] }).environmentList;
    expect((shown!["lastDeployment"] as Json)["url"]).to.equal(shown!["url"]);
    return shown!["url"];
  };

  it("reports the address of its environment, but no masked value in it", async () => {
    expect(await addressAfter("PLACE=berlin\n")).to.equal("https://berlin.example.com/");
    // It stays as it was when the job was queued.
    expect(await addressAfter("PLACE=hush-hush-hush\n")).to.equal("https://.example.com/");
  });
});
