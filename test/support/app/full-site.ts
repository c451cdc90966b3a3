import { expect } from "chai";

import { PackageType } from "../../../src/events/package/version.ts";
import { webhookTopics } from "../../../src/events/webhook/webhook.ts";
import { appendLog, beginRun } from "../../../src/platform/job-log/store.ts";
import { confirmRun } from "../../../src/projections/agent/job.ts";
import type { JobRow } from "../../../src/projections/pipeline/table.ts";
import { givenAgent } from "../agent/agent.ts";
import { pipelinesOf } from "../agent/pipeline-app.ts";
import { repositoriesAt } from "../client/registry.ts";
import type { TestApp, TestUser } from "./app.ts";
import { eventually } from "./eventually.ts";
import { committed } from "./site-world.ts";

/** A project with one of everything that has a page: public, and anna's. */
export const forge = "/project/anna/forge";

const readme = `# Forge

Keeps *everything* that happened. See [the code](src/greeting.ts) and issue #1.

- [x] write it
- [ ] read it

\`\`\`ts
export const greeting = "hello";
\`\`\`
`;

const pipelineFile = `
stages: [build, test, deploy]
compile: {stage: build, script: make}
unit: {stage: test, needs: [compile], script: make test}
lint: {stage: test, needs: [compile], script: make lint}
review: {stage: deploy, needs: [unit], script: make deploy, environment: {name: review/main, url: "https://review.example/"}}
release: {stage: deploy, script: make release, when: manual}
`;

const log = [
  "\u001b[32;1m$ make\u001b[0;m",
  "section_start:1:compile[collapsed=true]\r\u001b[0KCompile",
  "cc -o forge forge.c",
  "section_end:1:compile\r\u001b[0K",
  "\u001b[33mwarning:\u001b[0m unused variable",
  "done",
  "",
].join("\n");

export type FullSite = Readonly<{
  webhookId: string;
  scheduleId: string;
  variableId: string;
  agentUuid: string;
  repositories: Readonly<Record<string, string>>;
  commit: string;
  /** The page of a job that runs, and what its agent does to it. */
  running: Running;
}>;

/** Each page that a person sees; in them a project with one of everything. */
export const pagesOf = ({
  webhookId,
  scheduleId,
  variableId,
  agentUuid,
  repositories,
  commit,
}: FullSite): readonly string[] => [
  ...[
    "/login?choose=1",
    "/console",
    "/console/two-factor",
    "/project/my",
    "/project",
    "/user/anna",
    "/user/transfer",
  ],
  ...["/team/the-team", "/company/the-company", "/user/audit", "/admin/audit", "/admin/runners"],
  "/page/admin/operations",
  forge,
  ...[`${forge}/blob?commitHash=main&file=src/greeting.ts`, `${forge}/commits`],
  ...[`${forge}/commit/${commit}`, `${forge}/branch`, `${forge}/tag`, `${forge}/tag/v1.0`],
  ...[`${forge}/release`, `${forge}/issue`, `${forge}/issue/1`, `/page${forge}/issue/new`],
  ...[`/page${forge}/issue/1/edit`, `${forge}/issue?q=none-of-these`, `${forge}/issue/1?asOf=9999`],
  ...[`${forge}/merge-request/list`, `${forge}/merge-request/1`],
  ...[`${forge}/merge-request/1/changes`, `${forge}/merge-request/1/commits`],
  `${forge}/merge-request/1/changes?filePath=src%2Fgreeting.ts&newLine=1&oldLine=0`,
  `/page${forge}/merge-request/new?sourceBranch=twice`,
  ...[`${forge}/cicd/pipeline`, `${forge}/cicd/pipeline/1`, `${forge}/cicd/pipeline/1/artifacts`],
  ...[`${forge}/cicd/schedule`, `/page${forge}/cicd/schedule/new`],
  `/page${forge}/cicd/schedule/${scheduleId}/edit`,
  ...[`${forge}/setting/cicd/variable`, `/page${forge}/setting/cicd/variable/new`],
  `/page${forge}/setting/cicd/variable/${variableId}/edit`,
  ...[`${forge}/cicd/trigger`, `${forge}/runners`, `/page${forge}/runners/${agentUuid}/edit`],
  ...[`${forge}/cicd/job/1`, `${forge}/environment`, `${forge}/repositories`],
  ...["npm", "generic"].map((type) => `${forge}/repositories/${repositories[type]}`),
  ...[`${forge}/setting/webhook`, `${forge}/setting/webhook/${webhookId}/delivery`],
  ...[`/page${forge}/setting/webhook/${webhookId}/replay`, `${forge}/audit`, `/page${forge}/fork`],
  "/project/anna/missing",
];

type Running = Readonly<{
  at: string;
  append: (text: string) => Promise<unknown>;
  succeed: () => Promise<void>;
}>;

/** @param hook where webhooks are sent to */
export async function givenFullSite(
  app: TestApp,
  anna: TestUser,
  hook = "https://hooks.example/in",
): Promise<FullSite> {
  const project = await app.givenProject(anna, "forge", { private: false });
  const post = poster(app, anna);
  const events = Object.fromEntries(webhookTopics.map((topic) => [topic, true]));
  const { id } = await post(`${forge}/setting/webhook`, { url: hook, events });
  const files = { "README.md": readme, "src/greeting.ts": 'export const greeting = "hello";\n' };
  const commit = await committed(app, anna, forge, files, { message: "Begin" });
  const ci = pipelinesOf(app, anna, project);
  await ci.commit({ ".forge-ci.yaml": pipelineFile }, "Add a pipeline");
  await givenWork(app, anna, post);
  const running = await givenRun(app, ci);
  const scheduleId = await givenSchedule(post);
  const variableId = await givenVariables(post);
  const base = `${forge}/runners`;
  const { id: agentUuid } = await givenAgent(app, { base, token: anna.token }, { tag_list: "gpu" });
  await post(`${forge}/cicd/trigger`, { description: "Of the mirror <b>" });
  const repositories = await givenRepositories(app, anna);
  for (const kind of ["team", "company"]) {
    await post(`/${kind}`, { title: `The ${kind}`, alias: `the-${kind}`, isPrivate: false });
  }
  return {
    webhookId: String(id),
    scheduleId,
    variableId,
    agentUuid,
    repositories,
    commit,
    running,
  };
}

type Post = (at: string, body: unknown) => Promise<Readonly<Record<string, unknown>>>;

const poster =
  (app: TestApp, { token }: TestUser): Post =>
  async (at, body) => {
    const answer = await app.post(at, { token, body });
    expect(answer.status, `${at} ${answer.text}`).to.be.oneOf([200, 201]);
    return answer.body;
  };

/** Issues, merge requests, tags and releases. */
async function givenWork(app: TestApp, anna: TestUser, post: Post): Promise<void> {
  await post(`${forge}/label`, { title: "bug", hexColor: "#cf222e" });
  await post(`${forge}/label`, { title: "documentation", hexColor: "#1f6feb" });
  const labels = [{ title: "bug" }, { title: "documentation" }];
  const description = "It says *hello* only once.\n\n1. Start it\n2. Say hello twice";
  const assigned = { assignedUsers: [{ id: anna.id }] };
  await post(`${forge}/issue`, { title: "Greeting is lost", description, labels, ...assigned });
  await post(`${forge}/issue`, { title: "Write the manual", description: "All of it." });
  await post(`${forge}/issue-discussion/1/create`, { note: "I can see that as well." });
  const changed = { "src/greeting.ts": 'export const greeting = "hello, hello";\n' };
  const from = { branch: "twice", startBranch: "main", action: "UPDATE", message: "Greet twice" };
  await committed(app, anna, forge, changed, from);
  await post(`${forge}/merge-request`, {
    ...{ title: "Greet twice", description: "Closes #1." },
    ...{ sourceBranch: { id: "twice" }, targetBranch: { id: "main" } },
  });
  const line = { newLine: 1, oldLine: 0, newPath: "src/greeting.ts", oldPath: "src/greeting.ts" };
  const at = `${forge}/merge-request/1/discussions`;
  const { uuid } = await post(`${at}/create`, { message: "Why _twice_?", ...line });
  await post(`${at}/reply`, { discussionUuid: uuid, message: "Because once is lost." });
  const text = "## New\n\n- greets twice";
  await post(`${forge}/release`, { title: "One", tagName: "v1.0", description: text });
}

/** A schedule that no test meets. */
async function givenSchedule(post: Post): Promise<string> {
  const yearly = { cron: "0 3 1 1 *", timezone: "Europe/Berlin", refName: "main" };
  const variables = [{ key: "DEPTH", value: "all" }];
  const body = { ...yearly, description: "Every <b>year</b>", variables };
  const { id } = await post(`${forge}/cicd/schedule`, body);
  return String(id);
}

/** One that is masked and one that is not. */
async function givenVariables(post: Post): Promise<string> {
  const at = `${forge}/setting/cicd/variable`;
  await post(at, { key: "REGION", value: "eu", environmentScope: "review/*" });
  const { id } = await post(at, { key: "DEPLOY_KEY", value: "s3cret-s3cret", mask: true });
  return String(id);
}

type Ci = ReturnType<typeof pipelinesOf>;

/** A pipeline with a job that is over, one that runs, and others that wait. */
async function givenRun({ deps: { db } }: TestApp, ci: Ci): Promise<Running> {
  const claimed = async (): Promise<JobRow> =>
    await eventually(async () => {
      const row = await ci.claim();
      if (row === undefined) throw new Error("no job is queued");
      await ci.report(row, "RecordJobStarted");
      const { id: job_id, attempt, project_id, token_hash } = row;
      if (token_hash === null) throw new Error("the run has no token");
      // Tests open many pages meanwhile: the run is neither returned for want of a confirmation nor failed for want of contact.
      const contact_at = new Date(Date.now() + 3_600_000);
      const run = { job_id, attempt, project_id, token_hash };
      await beginRun(db, { ...run, agent_id: ci.agentId, contact_at, given_position: 1n });
      expect(await confirmRun(db, run, contact_at)).to.equal(true);
      const part = { first: 0, data: Buffer.from(log), forms: [] };
      await appendLog(db, { job_id, attempt }, part);
      return row;
    }, 60_000);
  await ci.report(await claimed(), "RecordJobSucceeded");
  await ci.report(await claimed(), "RecordJobSucceeded");
  const job = await claimed();
  let first = Buffer.byteLength(log);
  return {
    at: `${forge}/cicd/job/${job.local_id}`,
    append(text) {
      const data = Buffer.from(text);
      const part = { first, data, forms: [] };
      first += data.length;
      return appendLog(db, { job_id: job.id, attempt: job.attempt }, part);
    },
    succeed: () => ci.report(job, "RecordJobSucceeded"),
  };
}

/** One repository of each type of packages. */
async function givenRepositories(app: TestApp, { token }: TestUser) {
  const at = `${forge}/repositories`;
  const { local } = repositoriesAt(app, at, token);
  const made: Record<string, string> = {};
  for (const type of PackageType.options) {
    made[type] = (await local(`${type}-packages`, type)).repositoryUuid;
  }
  const to = `/registry/project/anna/forge/repository/generic-packages/tool/1.0/tool.txt`;
  const headers = { authorization: `Bearer ${token}` };
  const put = await fetch(app.url + to, { method: "PUT", headers, body: "tool" });
  expect(put.status, await put.text()).to.be.oneOf([200, 201]);
  return made;
}
