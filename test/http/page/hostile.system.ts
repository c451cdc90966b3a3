import { expect } from "chai";

import { appendLog, beginRun } from "../../../src/platform/job-log/store.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { leastLongestTurnMs } from "../../support/app/longest-turn.ts";
import { committed, loggedIn, type Visitor } from "../../support/app/site-world.ts";

/** Pages of what people put into a project to make them slow: each leaves the event loop to others. */
const app = await startTestApp({ workers: true });
const base = "/project/anna/hostile";
/** Of processor time, where one process is client, service and read models at once, threads included. */
const turnMaxMs = 100;

let anna: TestUser;
let insider: Visitor;
let commit: string;
/** One file with 100,000 changed lines. */
let changed: string;
let ci: ReturnType<typeof pipelinesOf>;
let jobId: unknown;

const deep = `${"> ".repeat(200)}x\n\n${"*a **b ".repeat(20_000)}\n\n${"[a](".repeat(20_000)}\n`;
const pipelineFile = Array.from(
  { length: 10 },
  (_, index) => `job ${index}:\n  script: make\n  parallel: 100\n`,
).join("");
const bomb = `${"\u001b[31m\u001b[1m".repeat(40_000)}x\n`.repeat(3);

before(async function () {
  this.timeout(240_000);
  anna = await app.givenUser("anna");
  const project = await app.givenProject(anna, "hostile");
  insider = await loggedIn(app, anna);
  const many = Object.fromEntries(
    Array.from({ length: 6 }, (_, index) => [`many/${index}.txt`, "line of text\n".repeat(17_000)]),
  );
  const rows = (text: string) => `${text} of a long file\n`.repeat(50_000);
  const files = { "README.md": deep, "big/README.md": "x ".repeat(2_600_000), ...many };
  commit = await committed(app, anna, base, { ...files, "rows.txt": rows("row") });
  const from = { branch: "rows", startBranch: "main", action: "UPDATE" };
  changed = await committed(app, anna, base, { "rows.txt": rows("other") }, from);
  ci = pipelinesOf(app, anna, project);
  await ci.commit({ ".forge-ci.yaml": pipelineFile });
  const job = await eventually(async () => {
    const row = await ci.claim();
    if (row === undefined) throw new Error("no job is queued");
    return row;
  }, 120_000);
  jobId = job.local_id;
  const { id: job_id, attempt, project_id } = job;
  const run = { job_id, attempt, project_id, agent_id: ci.agentId };
  await beginRun(app.deps.db, {
    ...run,
    token_hash: "x",
    contact_at: new Date(),
    given_position: 1n,
  });
  const part = { first: 0, data: Buffer.from(bomb), forms: [] };
  await appendLog(app.deps.db, { job_id, attempt }, part);
  await post(`${base}/merge-request`, {
    ...{ title: "Rows", sourceBranch: { id: "rows" }, targetBranch: { id: "main" } },
  });
  await post(`${base}/issue`, { title: "x".repeat(200), description: deep.slice(0, 60_000) });
});

async function post(at: string, body: unknown): Promise<void> {
  const { status, text } = await app.post(at, { token: anna.token, body });
  expect(status, text).to.equal(200);
}

describe("pages of hostile content", () => {
  const pages: readonly (readonly [string, () => string, RegExp])[] = [
    ["a README that nests and opens without end", () => base, /README\.md/],
    ["a README of 5 MiB", () => `${base}/blob?commitHash=main&file=big`, /too large to be shown/],
    ["the 5 MiB as a file", () => `${base}/blob?commitHash=main&file=big/README.md`, /README/],
    ["a commit of 100,000 lines", () => `${base}/commit/${commit}`, /9 files changed/],
    [
      "a page of a change of 17,000 lines",
      () => `${base}/commit/${commit}?file=many/3.txt&page=3`,
      /<tr class="op-add"/,
    ],
    [
      "the last page of 100,000 changed lines of one file",
      () => `${base}/commit/${changed}?file=rows.txt&page=33`,
      /99001–100000 of 100000[\s\S]*<tr class="op-add"/,
    ],
    [
      "the same of a merge request",
      () => `${base}/merge-request/1/changes?filePath=rows.txt&page=16`,
      /<tr class="op-remove"[\s\S]*<tr class="op-add"[\s\S]*Next →/,
    ],
    ["a pipeline of 1,000 jobs", () => `${base}/cicd/pipeline/1`, /<svg/],
    ["a log full of sequences", () => `${base}/cicd/job/${jobId}?part=0`, /id="L1"/],
    ["an issue that nests and opens without end", () => `${base}/issue/1`, /x{50}/],
  ];
  for (const [name, at, content] of pages) {
    it(`show ${name} and leave the event loop to others`, async () => {
      let text = "";
      const longest = await leastLongestTurnMs(async () => {
        const shown = await insider.see(at());
        expect(shown.status).to.equal(200);
        text = shown.text;
      });
      expect(text).to.match(content);
      expect(text).not.to.match(/<script>|onerror=/);
      expect(text.length).to.be.lessThan(6_000_000);
      expect(longest).to.be.lessThan(turnMaxMs);
    }).timeout(120_000);
  }
});
