import { createHash } from "node:crypto";
import { expect } from "chai";

import type { Job } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { blobCollectionWorker } from "../../../src/workers/git/blob-collection.ts";
import { projectPurgeWorker, sweepDeletedProjects } from "../../../src/workers/project/purge.ts";
import { type Send, startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { startReceiver } from "../../support/client/receiver.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const app = await startTestApp({ workers: true });
const receiver = await startReceiver();
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const { db } = app.platform;
const signal = new AbortController().signal;

/** What records a project after its end, and why. */
const telling = [
  // What its former key sealed in the log reads as forgotten.
  "public.vault_key_gone",
  // The log, and what finds its way in it.
  "read_model.audit_entry",
  // What people pushed stays theirs.
  "read_model.push_count",
];

const large = "large\n".repeat(1_000);
const oid = createHash("sha256").update(large).digest("hex");

/** A project with one of everything in it, among it a webhook with a delivery, and a mirror that fails. */
async function givenFull(alias: string): Promise<readonly string[]> {
  const { id } = await app.givenProject(anna, alias, { private: false });
  const at = `/project/anna/${alias}`;
  const as = (body: unknown, user = anna): Send => ({ token: user.token, body });
  const hook = { url: receiver.url, secret: "s3cret", events: { BRANCH_CREATE: true } };
  const webhook = await posted(`${at}/setting/webhook`, as(hook));
  const copy = await workingCopy(parent, alias);
  await commit(copy, "One", { "a.txt": "a\n" });
  const remote = Object.assign(new URL(`${at}.git`, app.url), {
    username: "anna",
    password: anna.token,
  });
  await git(copy, "push", "--quiet", remote.href, "main");
  await eventually(() => receiver.received.length > 0);

  await posted(`${at}/member/invite`, as({ userAlias: "bob", role: "DEVELOPER" }));
  await posted(`${at}/member/invite`, as({ email: "carla@example.org", role: "GUEST" }));
  await posted(
    `${at}/branch-protection/create`,
    as({ branchTemplate: "r*", allowedToPush: "ADMINS" }),
  );
  const approvals = `${at}/merge-request/approval`;
  const rule = { targetBranch: "main", name: "One", minimalApprovals: 0, allowedApproversUuid: [] };
  await posted(`${approvals}/rule/create`, as(rule));
  const configured = await app.send("PATCH", `${approvals}/configuration/edit`, {
    ...as({ preventAuthorApproving: true }),
  });
  expect(configured.status, configured.text).to.equal(200);
  await posted(`${at}/report`, as({ reason: "SPAM", text: "Look at this" }, bob));
  const release = await posted(`${at}/release`, as({ title: "One", tagName: "v1" }));
  const form = new FormData();
  form.append("files", new Blob([`released ${alias}`]), "one.txt");
  const headers = { authorization: `token ${anna.token}` };
  const file = await fetch(`${app.url}${at}/release/${release}/file`, {
    method: "POST",
    headers,
    body: form,
  });
  expect(file.status).to.equal(200);
  await givenLargeFile(`${at}.git/info/lfs`);
  await posted(`${at}/mirror`, as({ url: "https://127.0.0.1:1/copy.git", type: "PUSH" }));
  return [id, webhook, release];
}

async function givenLargeFile(lfs: string): Promise<void> {
  const basic = Buffer.from(`anna:${anna.token}`).toString("base64");
  const headers = {
    authorization: `Basic ${basic}`,
    "content-type": "application/vnd.git-lfs+json",
  };
  const url = `${app.url}${lfs}`;
  const put = await fetch(`${url}/objects/${oid}/${large.length}`, {
    method: "PUT",
    headers: { ...headers, "content-type": "application/octet-stream" },
    body: large,
  });
  expect(put.status, await put.text()).to.equal(200);
  const lock = await fetch(`${url}/locks`, {
    method: "POST",
    headers,
    body: JSON.stringify({ path: "hero.bin" }),
  });
  expect(lock.status, await lock.text()).to.equal(201);
}

async function posted(path: string, send: Send): Promise<string> {
  const answer = await app.post(path, send);
  expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
  return String(answer.body["id"]);
}

/** Tables, read models and others, with a row in which one of the texts stands anywhere. */
async function tablesNaming(texts: readonly string[]): Promise<readonly string[]> {
  const { rows: tables } = await db.raw<{ rows: { schema: string; name: string }[] }>(
    `select table_schema as schema, table_name as name from information_schema.tables
     where table_schema in ('public', 'read_model') order by 1, 2`,
  );
  const naming: string[] = [];
  for (const { schema, name } of tables) {
    const { rows } = await db.raw("select 1 from ??.?? as t where t::text ~ ? limit 1", [
      schema,
      name,
      texts.join("|"),
    ]);
    if (rows.length > 0) naming.push(`${schema}.${name}`);
  }
  return naming;
}

describe("a project that is purged", () => {
  let ids: readonly string[];
  const jobs: Job[] = [];
  const later = (days: number) => () => new Date(Date.now() + days * 24 * 3_600_000);
  const depsAt = (now: () => Date): WorkerDeps => ({
    ...app.deps,
    outbound: undefined as never,
    proxy: undefined as never,
    queues: { ...app.platform.queues, add: async (added) => void jobs.push(...added) },
    now,
  });

  before(async () => {
    ids = await givenFull("full");
    await givenFull("other");
    // As many changes of its settings leave it.
    await db("as_of_snapshot").insert({
      ...{ place_id: ids[0], thing: "", read_model: "project", version: 1, position: 1 },
      ...{ event_id: "1", latest_at: new Date(), rows: "{}" },
    });
    // As a delivery that waits for its next attempt leaves them.
    const webhook_id = ids[1];
    await db("webhook_health").insert({ webhook_id, failing_since: new Date() });
    await db("webhook_outbox").insert({
      delivery_id: ids[0],
      webhook_id,
      position: 1,
      due_at: new Date(),
    });
    await eventually(
      async () => (await tablesNaming(ids)).includes("public.repository_size"),
      60_000,
    );
    const counted = async () => (await tablesNaming(ids)).includes("public.push_count_progress");
    await eventually(counted, 60_000);
  });

  it("has rows in every table that may have some, and leaves none", async () => {
    // Once the workers have nothing left to do about it.
    let before: readonly string[] = [];
    await eventually(async () => {
      const earlier = before;
      before = await tablesNaming(ids);
      return before.length > 0 && before.join() === earlier.join();
    }, 60_000);
    expect(before).to.include.members([
      "public.mirror_sync",
      "public.webhook_outbox",
      "read_model.approval_configuration",
      "read_model.approval_rule",
      "read_model.git_ref",
      "read_model.git_ref_change",
      "read_model.git_repository",
      "read_model.invitation",
      "read_model.lfs_lock",
      "read_model.lfs_object",
      "read_model.member",
      "read_model.project",
      "read_model.protection_rule",
      "read_model.push_tip",
      "read_model.release",
      "read_model.release_file",
      "read_model.report",
      "read_model.webhook",
      "read_model.webhook_delivery",
    ]);
    const removed = await app.delete(`/project/${ids[0]}/delete`, { token: anna.token });
    expect(removed.status).to.equal(200);
    const lapsing = "read_model.invitation";
    const rest = before.filter((name) => name !== lapsing);
    await eventually(async () => expect(await tablesNaming(ids)).to.deep.equal(rest), 60_000);

    const deps = depsAt(later(31));
    await sweepDeletedProjects(deps);
    const job = jobs.find(({ data }) => data["projectId"] === ids[0]);
    await projectPurgeWorker.runJob(job?.data, deps, signal);
    await app.deps.visible(await app.platform.store.head());
    await projectPurgeWorker.runJob(job?.data, deps, signal);
    await eventually(async () => expect(await tablesNaming(ids)).to.deep.equal(telling), 60_000);
  });

  it("takes nothing of another project, nor a file that one still has", async () => {
    const other = await app.get("/project/anna/other/release", { token: anna.token });
    expect(other.body["page"]).to.include({ totalElements: 1 });
    expect((await app.get("/project/anna/other/tag/v1", { token: anna.token })).status).to.equal(
      200,
    );
    const only = createHash("sha256").update("released full").digest("hex");
    expect(await app.deps.blobs.stat(only)).to.not.equal(undefined);
    await blobCollectionWorker.runJob({}, depsAt(later(2)), signal);
    expect(await app.deps.blobs.stat(only), "of the purged one alone").to.equal(undefined);
    expect(await app.deps.blobs.stat(oid), "of both").to.deep.include({ bytes: large.length });
  });
});
