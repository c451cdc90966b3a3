import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { NewEvent, Recorded } from "../../../src/events/core/event.ts";
import type { ProjectId, WebhookId } from "../../../src/events/core/ids.ts";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { webhookDeliveryStream } from "../../../src/events/webhook/delivery.ts";
import type { Repository } from "../../../src/git/repository.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { webhookDispatch } from "../../../src/workers/webhook/dispatch.ts";
import { webhookNotification } from "../../../src/workers/webhook/notification.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { givenProject, testWorkers } from "../../support/app/worker-deps.ts";
import { attemptFailed, deliverySucceeded } from "../../support/client/webhook.ts";
import { givenWebhook } from "../../support/client/webhook-order.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const zeros = "0".repeat(40);
const url = "https://hooks.example.com/";

type Payload = Record<string, unknown>;
type Scheduled = Readonly<{ webhookId: string; action: string; payload: Payload }>;

describe("notifying webhooks of events", () => {
  let deps: WorkerDeps;
  let projectId: ProjectId;
  let userId: string;
  let repository: Repository;
  let copy: string;
  let first: string;
  let second: string;

  before(async () => {
    ({ deps } = await testWorkers());
    ({ projectId, userId } = await givenProject(deps, "search"));
    repository = await deps.git.ensure(projectId, "main");
    copy = await workingCopy(await temporaryDirectory(), "copy");
    first = await commit(copy, "First", { "a.txt": "a" });
    second = await commit(copy, "Second\n\nWith é.", { "a.txt": "b", "b.txt": "b" });
    await git(copy, "tag", "-a", "-m", "Release one", "v1");
    await git(copy, "push", "--quiet", "--tags", repository.gitDir, "main");
  });

  /** Appends an event as a push does, and gives it as the reactor gets it. */
  async function happened(type: string, data: object, stream = repositoryStream(projectId)) {
    const id = randomUUID();
    const event: NewEvent = { id, type, data: { ...data }, metadata: metadataFor(id) };
    await deps.store.append(stream, "any", [event]);
    for await (const recorded of deps.store.readStreamBackwards(stream, 1)) return recorded;
    throw new Error("nothing was appended");
  }
  const byUser = () => ({ changedById: userId, changedAt: at });

  async function scheduledBy(event: Recorded): Promise<readonly Scheduled[]> {
    const before = await deps.store.head();
    await webhookNotification.react(event, deps);
    const scheduled: Scheduled[] = [];
    for await (const { type, data } of deps.store.readAll({ after: before ?? 0n })) {
      if (type !== "WebhookDeliveryScheduled") continue;
      const text = (await deps.vault.open(data["body"] as never)) ?? "";
      const { webhookId, action } = data as { webhookId: string; action: string };
      scheduled.push({ webhookId, action, payload: JSON.parse(text) });
    }
    return scheduled;
  }

  async function payloadOf(event: Recorded, webhookId: WebhookId): Promise<Payload> {
    const scheduled = await scheduledBy(event);
    const own = scheduled.find((each) => each.webhookId === webhookId);
    expect(own, "scheduled").not.to.equal(undefined);
    expect(own?.payload["action"]).to.equal(own?.action);
    return own!.payload;
  }

  const hook = (...topics: Parameters<typeof givenWebhook>[1]["topics"] & object) =>
    givenWebhook(deps, { projectId, url, topics });

  it("has an empty language of a project without one", async () => {
    const webhookId = await hook("BRANCH_CREATE");
    const speak = (language: string | null) =>
      deps.db("project").where({ id: projectId }).update({ language });
    await speak(null);
    const event = await happened("BranchCreated", { branch: "b", commitId: first, ...byUser() });
    const { project } = await payloadOf(event, webhookId).finally(() => speak("TypeScript"));
    expect(project).to.include({ language: "" });
  });

  it("builds BRANCH_CREATE with project, commits, branch and user", async () => {
    const webhookId = await hook("BRANCH_CREATE");
    const event = await happened("BranchCreated", {
      branch: "main",
      commitId: second,
      ...byUser(),
    });
    const payload = await payloadOf(event, webhookId);
    expect(payload).to.deep.include({
      action: "BRANCH_CREATE",
      project_id: projectId,
      project: {
        project_id: projectId,
        title: "Project search",
        alias: "search",
        owner_alias: "user-search",
        owner_type: "USER",
        http_transport_url: "https://forge.example/project/user-search/search.git",
        ssh_transport_url: "git@forge.example:user-search/search.git",
        language: "TypeScript",
        private: true,
      },
      branch: { name: "main" },
      user: { id: userId, alias: "user-search" },
    });
    const push = payload["push"] as Record<string, unknown>;
    expect(push).to.deep.include({
      ref: "refs/heads/main",
      before: zeros,
      after: second,
      total_commits_count: 2,
    });
    const [newest] = push["commits"] as Record<string, unknown>[];
    expect(newest).to.deep.include({
      id: second,
      message: "Second\n\nWith é.\n",
      author_name: "Anna Author",
      author_email: "anna@example.test",
      added: ["b.txt"],
      modified: ["a.txt"],
      removed: [],
    });
    expect(newest?.["timestamp"]).to.match(/^\d{4}-.*\.\d{3}Z$/);
  });

  it("builds BRANCH_UPDATE with what the push brought", async () => {
    const webhookId = await hook("BRANCH_UPDATE");
    const event = await happened("BranchUpdated", {
      branch: "main",
      before: first,
      after: second,
      forced: false,
      ...byUser(),
    });
    const { push } = await payloadOf(event, webhookId);
    expect(push).to.deep.include({ before: first, after: second, total_commits_count: 1 });
    expect((push as { commits: { id: string }[] }).commits.map(({ id }) => id)).to.deep.equal([
      second,
    ]);
  });

  it("builds BRANCH_DELETE without commits, also when nobody is known to have done it", async () => {
    const webhookId = await hook("BRANCH_DELETE");
    const event = await happened("BranchDeleted", {
      branch: "old",
      commitId: first,
      changedById: null,
      changedAt: at,
    });
    const payload = await payloadOf(event, webhookId);
    expect(payload["push"]).to.deep.equal({
      ref: "refs/heads/old",
      before: first,
      after: zeros,
      total_commits_count: 0,
      commits: [],
    });
    expect(payload["user"]).to.equal(null);
  });

  it("lists at most 20 commits and reports how many there are, of a new branch its own only", async () => {
    await git(copy, "checkout", "--quiet", "-b", "long", first);
    for (let n = 0; n < 25; n += 1) await git(copy, "commit", "--allow-empty", "-qm", `C${n}`);
    const head = await git(copy, "rev-parse", "HEAD");
    await git(copy, "push", "--quiet", repository.gitDir, "long");
    const webhookId = await hook("BRANCH_CREATE");
    const event = await happened("BranchCreated", { branch: "long", commitId: head, ...byUser() });
    const { push } = await payloadOf(event, webhookId);
    const { total_commits_count: total, commits } = push as Record<string, unknown>;
    expect(total).to.equal(25);
    expect(commits).to.have.length(20);
    await git(copy, "checkout", "--quiet", "main");
  });

  it("lists the commits of a new branch also after the default branch has got them", async () => {
    const webhookId = await hook("BRANCH_CREATE");
    await git(copy, "checkout", "--quiet", "-b", "merged", second);
    const head = await commit(copy, "Third", { "c.txt": "c" });
    await git(copy, "push", "--quiet", repository.gitDir, "merged", "merged:main");
    const event = await happened("BranchCreated", {
      branch: "merged",
      commitId: head,
      ...byUser(),
    });
    const merge = { branch: "main", before: second, after: head, forced: false };
    await deps.visible((await happened("BranchUpdated", { ...merge, ...byUser() })).position);
    const { push } = await payloadOf(event, webhookId);
    expect(push).to.deep.include({ after: head, total_commits_count: 1 });
    await git(copy, "checkout", "--quiet", "main");
  });

  it("builds TAG_CREATE, TAG_UPDATE and TAG_DELETE, of both kinds of tags", async () => {
    const webhookId = await hook("TAG_CREATE", "TAG_UPDATE", "TAG_DELETE");
    const objectId = await git(copy, "rev-parse", "v1");
    const annotated = { tag: "v1", objectId, commitId: second, lightWeight: false };
    const light = { tag: "v0", objectId: first, commitId: first, lightWeight: true };

    for (const [type, data, tag] of [
      ["TagCreated", annotated, { message: "Release one\n", light_weight: false }],
      ["TagCreated", light, { message: null, light_weight: true }],
      ["TagUpdated", { ...annotated, before: first }, { before: first, after: objectId }],
      ["TagDeleted", { tag: "v1", objectId }, { message: "Release one\n", light_weight: false }],
      ["TagDeleted", { tag: "v0", objectId: first }, { message: null, light_weight: true }],
    ] as const) {
      const event = await happened(type, { ...data, ...byUser() });
      const payload = await payloadOf(event, webhookId);
      const commitId = data.tag === "v1" ? second : first;
      expect(payload["tag"]).to.deep.include({ name: data.tag, commit_id: commitId, ...tag });
      expect(payload["action"]).to.equal(
        { TagCreated: "TAG_CREATE", TagUpdated: "TAG_UPDATE", TagDeleted: "TAG_DELETE" }[type],
      );
    }
  });

  it("notifies those who subscribed, and nobody else", async () => {
    const hears = await hook("TAG_CREATE", "MERGE");
    const deaf = await hook("TAG_DELETE");
    const event = await happened("TagCreated", {
      tag: "v2",
      objectId: first,
      commitId: first,
      lightWeight: true,
      ...byUser(),
    });
    const later = await hook("TAG_CREATE");
    const notified = (await scheduledBy(event)).map(({ webhookId }) => webhookId);
    expect(notified).to.include(hears).and.not.include(deaf).and.not.include(later);
  });

  it("notifies no webhook twice, and changes nothing when the event is repeated", async () => {
    await hook("TAG_CREATE");
    const tag = { tag: "v3", objectId: first, commitId: first, lightWeight: true };
    const event = await happened("TagCreated", { ...tag, ...byUser() });
    const notified = (await scheduledBy(event)).map(({ webhookId }) => webhookId);
    expect(new Set(notified).size).to.equal(notified.length);
    const head = await deps.store.head();
    await webhookNotification.react(event, deps);
    expect(await deps.store.head()).to.equal(head);
  });

  it("keeps the payload below what a store takes, whatever was pushed", async () => {
    const long = "d/".repeat(80);
    const files = Object.fromEntries(
      Array.from({ length: 1_500 }, (_, n) => [`${long}${"x".repeat(200)}${n}.txt`, `${n}`]),
    );
    const before = await git(copy, "rev-parse", "HEAD");
    const after = await commit(copy, "m".repeat(100_000), files);
    await git(copy, "push", "--quiet", repository.gitDir, "HEAD:refs/heads/big");
    const webhookId = await hook("BRANCH_UPDATE");
    const change = { branch: "big", before, after, forced: false };
    const event = await happened("BranchUpdated", { ...change, ...byUser() });
    const payload = await payloadOf(event, webhookId);
    expect(JSON.stringify(payload).length).to.be.below(512 * 1024);
    const push = payload["push"] as { commits: { added: string[] }[] };
    expect(push.commits[0]?.added.length).to.be.within(1, 1_000);
  });

  it("says the little it can when the repository is gone", async () => {
    const other = await givenProject(deps, "gone");
    const webhookId = await givenWebhook(deps, { ...other, url, topics: ["BRANCH_UPDATE"] });
    const change = { branch: "main", before: first, after: second, forced: true };
    const stream = repositoryStream(other.projectId);
    const event = await happened("BranchUpdated", { ...change, ...byUser() }, stream);
    const { push } = await payloadOf(event, webhookId);
    expect(push).to.deep.include({ total_commits_count: 0, commits: [] });
  });

  it("knows nothing of a project that is not there", async () => {
    const stream = repositoryStream(randomUUID());
    const data = { branch: "main", commitId: first, ...byUser() };
    expect(await scheduledBy(await happened("BranchCreated", data, stream))).to.deep.equal([]);
  });

  describe("by WEBHOOK_SEND", () => {
    const ended = (event: { type: string; data: object }, webhookId: string, over: object = {}) =>
      happened(
        event.type,
        { ...event.data, projectId, webhookId, ...over },
        webhookDeliveryStream(randomUUID()),
      );

    it("records each delivery of the other webhooks once it is over", async () => {
      const sender = await hook("BRANCH_CREATE");
      const watcher = await hook("WEBHOOK_SEND");
      const event = await ended(deliverySucceeded(), sender);
      const payload = await payloadOf(event, watcher);
      expect(payload).to.include({ action: "WEBHOOK_SEND", project_id: projectId });
      expect(payload["delivery"]).to.deep.equal({
        id: event.stream.slice("webhookDelivery-".length),
        webhook_id: sender,
        event: "BRANCH_CREATE",
        attempt: 1,
        status: 200,
        duration_ms: deliverySucceeded().data["totalMs"],
      });
      const failed = await ended(attemptFailed({ nextAttemptAt: null, attempt: 8 }), sender);
      expect((await payloadOf(failed, watcher))["delivery"]).to.include({
        attempt: 8,
        status: attemptFailed().data["status"],
      });
    });

    it("says nothing while attempts go on, of its own kind, and to the webhook itself", async () => {
      const watcher = await hook("WEBHOOK_SEND");
      const other = await hook("WEBHOOK_SEND");
      const quiet = [
        await ended(attemptFailed(), other),
        await ended(deliverySucceeded(), other, { action: "WEBHOOK_SEND" }),
      ];
      for (const event of quiet) expect(await scheduledBy(event)).to.deep.equal([]);
      const own = await scheduledBy(await ended(deliverySucceeded(), watcher));
      const notified = own.map(({ webhookId }) => webhookId);
      expect(notified).to.include(other).and.not.include(watcher);
    });
  });

  it("puts deliveries in line before their jobs are added, and once", async () => {
    const webhookId = await hook("TAG_CREATE");
    const tag = { tag: "v4", objectId: first, commitId: first, lightWeight: true };
    await scheduledBy(await happened("TagCreated", { ...tag, ...byUser() }));
    const own: Recorded[] = [];
    for await (const event of deps.store.readAll()) {
      const isOwn = event.data["webhookId"] === webhookId;
      if (isOwn && event.type === "WebhookDeliveryScheduled") own.push(event);
    }
    const [scheduled] = own;
    const jobs = await webhookDispatch.react(scheduled!, deps);
    await webhookDispatch.react(scheduled!, deps);
    const deliveryId = scheduled?.data["deliveryId"];
    const turn = jobs[0]?.id;
    expect(turn).to.be.a("string").and.not.equal(deliveryId);
    expect(jobs).to.deep.equal([
      { queue: "webhook-delivery", id: turn, data: { webhookId, turn } },
    ]);
    const rows = await deps.db("webhook_outbox").where("webhook_id", webhookId);
    expect(rows).to.have.length(1);
    expect(rows[0]).to.include({ delivery_id: deliveryId, position: scheduled?.position });
  });
});
