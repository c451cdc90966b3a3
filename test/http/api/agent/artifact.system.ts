import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { fromBufferPromise } from "yauzl";

import { artifactBytesMax } from "../../../../src/http/protocol/runner/artifact-transfer.ts";
import type { WorkerDeps } from "../../../../src/services/core/deps.ts";
import { sweepArtifacts } from "../../../../src/workers/agent/artifact-sweep.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { type TakenJob, uploadFile } from "../../../support/agent/agent-job.ts";
import { eventually } from "../../../support/app/eventually.ts";

const { app, token, at, put, begin, take } = await startAppWithAgent({ workers: true });

function upload(
  job: TakenJob,
  content: string,
  query = "",
  name = "artifacts.zip",
  by = job.token,
) {
  const of = { query: query.replace("?", ""), name, content: Buffer.from(content) };
  return uploadFile(app, { ...job, token: by }, of);
}

const fetched = (of: number, by: string) =>
  app.get(`/api/v4/jobs/${of}/artifacts?direct_download=true`, { headers: { "job-token": by } });

const file = `
stages: [one, two]
build: {stage: one, script: x, artifacts: {paths: [out], expire_in: 1 day}}
other: {stage: one, script: x, needs: []}
use: {stage: two, script: x, dependencies: [build]}
`;

type Shown = Readonly<Record<string, unknown>>;
const listed = async (path: string): Promise<readonly Shown[]> =>
  (
    (await app.get(`${at.base}/cicd/${path}/artifacts`, { token })).body["_embedded"] as {
      restPipelineJobArtifactModelList: Shown[];
    }
  ).restPipelineJobArtifactModelList;

/** Sends an artifact, and what ends it only after `meanwhile`, which begins when the service reads. @returns the status */
function uploadAround(job: TakenJob, meanwhile: () => Promise<unknown>): Promise<number> {
  const head =
    '--end\r\nContent-Disposition: form-data; name="file"; filename="artifacts.zip"\r\n' +
    "Content-Type: application/zip\r\n\r\n";
  return new Promise((resolve, reject) => {
    const headers = {
      "job-token": job.token,
      "content-type": "multipart/form-data; boundary=end",
      expect: "100-continue",
    };
    const url = `${app.url}/api/v4/jobs/${job.id}/artifacts`;
    const outgoing = request(url, { method: "POST", headers }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    outgoing.once("continue", () => {
      outgoing.write(`${head}content`);
      meanwhile().then(() => outgoing.end("\r\n--end--\r\n"), reject);
    });
    outgoing.once("error", reject);
    outgoing.flushHeaders();
  });
}

/** What a job, the list of its pipeline and that of its agent say of the end of its artifacts. */
async function ends(job: string, pipeline: string): Promise<readonly unknown[]> {
  const one = (await app.get(job, { token })).body;
  const lists = [`${at.base}/cicd/${pipeline}/jobs`, `${at.base}/runners/all/jobs`];
  const found = lists.map(async (path) => {
    const { _embedded } = (await app.get(path, { token })).body as {
      _embedded: { restPipelineJobModelList: readonly Shown[] };
    };
    return _embedded.restPipelineJobModelList.find(({ id }) => id === one["id"]);
  });
  return [one, ...(await Promise.all(found))].map((view) => view?.["artifactsExpireAt"]);
}

describe("an artifact", () => {
  it("is uploaded by a job, fetched by the job that depends on it, and downloaded", async () => {
    await at.commit({ ".forge-ci.yaml": file });
    const pipeline = await eventually(async () => (await at.pipelines())[0]);
    const jobs = [await begin(), await begin()];
    const named = (name: string) =>
      jobs.find((job) => (job["job_info"] as { name: string }).name === name) as TakenJob;
    const [build, other] = [named("build"), named("other")];

    const head = await app.head();
    expect((await upload(build, "x", "", "a.zip", other.token)).status).to.equal(403);
    expect((await upload(other, "x")).status).to.equal(403);
    expect((await upload(build, "x", "?artifact_type=junit")).status).to.equal(403);
    for (const name of ["../a.zip", "a/b.zip"]) {
      const answer = await upload(build, "x", "", name);
      const { fileName } = (await listed(`pipeline/${pipeline?.["localId"]}`))[0] ?? {};
      expect(answer.status === 422 || !/[/\\]/.test(String(fileName)), name).to.equal(true);
    }
    expect(head).to.be.a("bigint");
    expect((await upload(build, "first", "?expire_in=100+years")).status).to.equal(201);
    expect((await upload(build, "second")).status).to.equal(201);
    await put(build, { state: "success" });
    await put(other, { state: "success" });
    expect((await upload(build, "late")).status).to.equal(403);

    const use = await take();
    const [dependency] = use["dependencies"] as {
      id: number;
      token: string;
      artifacts_file: Shown;
    }[];
    expect(dependency).to.deep.include({ id: build.id, token: use.token, name: "build" });
    expect(dependency?.artifacts_file).to.deep.equal({ filename: "artifacts.zip", size: 6 });
    const answer = await fetched(build.id, use.token);
    expect([answer.status, answer.text]).to.deep.equal([200, "second"]);
    expect((await fetched(other.id, use.token)).status).to.equal(403);
    expect((await fetched(build.id, build.token)).status).to.equal(403);
    expect((await fetched(build.id, token)).status).to.equal(403);

    const [shown, ...rest] = await listed(`pipeline/${pipeline?.["localId"]}`);
    expect(rest).to.deep.equal([]);
    expect(shown).to.include({ fileName: "artifacts.zip", size: 6, fileType: "archive" });
    const day = Date.parse(String(shown?.["expireAt"])) - Date.now();
    expect(day).to.be.within(86_000_000, 86_400_000);
    expect(await listed(`job/${shown?.["jobLocalId"]}`)).to.deep.equal([shown]);
    const got = await app.get(String(shown?.["downloadUrl"]), { token });
    expect([got.status, got.text]).to.deep.equal([200, "second"]);
    await put(use, { state: "running" });
    await put(use, { state: "success" });
    expect((await fetched(build.id, use.token)).status).to.equal(403);
  });

  it("is part of the archive of its pipeline", async () => {
    const [pipeline] = await at.pipelines();
    const path = `${at.base}/cicd/pipeline/${pipeline?.["localId"]}/artifacts-download`;
    const response = await fetch(app.url + path, { headers: { authorization: `token ${token}` } });
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.equal("application/zip");
    expect(response.headers.get("content-disposition")).to.include('"search-1-artifacts.zip"');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.headers.get("content-length")).to.equal(String(bytes.length));
    const archive = await fromBufferPromise(bytes);
    const files: string[][] = [];
    for await (const entry of archive.eachEntry()) {
      files.push([entry.fileName, await text(await archive.openReadStreamPromise(entry))]);
    }
    expect(files).to.deep.equal([["build/artifacts.zip", "second"]]);
  });

  it("expires at its time unless it is locked", async () => {
    const [pipeline] = await at.pipelines();
    const path = `pipeline/${pipeline?.["localId"]}`;
    const [shown] = await listed(path);
    const one = `${at.base}/cicd/job/${shown?.["jobLocalId"]}/${shown?.["id"]}`;
    const sweep = async (days: number) => {
      const now = () => new Date(Date.now() + days * 86_400_000);
      await sweepArtifacts({ ...app.deps, now } as unknown as WorkerDeps);
      await app.deps.visible(await app.head());
    };
    const job = `${at.base}/cicd/job/${shown?.["jobLocalId"]}`;
    const kept = { ...shown, locked: true, expireAt: null };
    expect(await ends(job, path)).to.deep.equal(Array(3).fill(shown?.["expireAt"]));
    expect((await app.post(`${one}/lock`, { token })).body).to.deep.equal(kept);
    await sweep(2);
    expect(await listed(path)).to.deep.equal([kept]);
    expect(await ends(job, path)).to.deep.equal([null, null, null]);
    expect((await app.post(`${one}/unlock`, { token })).body).to.deep.equal(shown);
    await sweep(0);
    expect(await listed(path)).to.have.length(1);
    await sweep(2);
    expect(await listed(path)).to.deep.equal([]);
    expect((await app.post(`${one}/lock`, { token })).status).to.equal(404);
    const all = await app.get(`${at.base}/cicd/${path}/artifacts-download`, { token });
    expect([all.status, all.body["code"]]).to.deep.equal([404, "artifact.not_found"]);
    const none = `${at.base}/cicd/job/${shown?.["jobLocalId"]}/artifact/${randomUUID()}/download`;
    expect((await app.get(none, { token })).status).to.equal(404);
  });
});

describe("the artifacts of a job", () => {
  it("have 1 GiB together, without what they replace", async () => {
    const artifacts = "{paths: [out], reports: {dotenv: build.env}}";
    await at.commit({ ".forge-ci.yaml": `a: {script: x, artifacts: ${artifacts}}` }, "[skip ci]");
    await at.start();
    const job = await begin();
    const report = (content: string) => upload(job, content, "?artifact_type=dotenv");
    expect((await upload(job, "content")).status).to.equal(201);
    const { id } = await app.deps.db("job_artifact").orderBy("created_at", "desc").first("id");
    await app.deps
      .db("job_artifact")
      .where({ id })
      .update({ bytes: artifactBytesMax - 5 });
    expect((await report("A=1234")).status).to.equal(413);
    expect((await report("A=123")).status).to.equal(201);
    expect((await upload(job, "content once more")).status).to.equal(201);
    await put(job, { state: "success" });
  });
});

describe("an artifact of a run that ends", () => {
  it("is not stored when its run ends while it comes", async () => {
    await at.commit({ ".forge-ci.yaml": "a: {script: x, artifacts: {paths: [out]}}" }, "[skip ci]");
    const { localId } = await at.start();
    const [{ localId: number } = {}] = await at.jobs(localId);
    const cancel = () => app.post(`${at.base}/cicd/job/${number}/cancel`, { token });
    expect(await uploadAround(await begin(), cancel)).to.equal(403);
    expect(await listed(`job/${number}`)).to.deep.equal([]);
  });
});
