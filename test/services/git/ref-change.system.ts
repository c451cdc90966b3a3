import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { expect } from "chai";

import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { startUpdate } from "../../../src/git/ref-update.ts";
import { keyedLock } from "../../../src/platform/keyed-lock.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { findProjectById } from "../../../src/projections/project/project.ts";
import { changeRefs, type RefOrder } from "../../../src/services/git/ref-change.ts";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import { secretKey } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { startGitApp, type TestProject, type TestUser } from "../../support/app/git-app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { bundledArgs } from "../../support/compiled.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";
import { processes } from "../../support/process/process.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let copy: string;
let first: string;
let second: string;
let count = 0;

before(async () => {
  anna = await app.user("anna");
});
beforeEach(async () => {
  count += 1;
  project = await app.project(anna, `project-${count}`);
  copy = await workingCopy(parent, `copy-${count}`);
  first = await commit(copy, "First");
  second = await commit(copy, "Second");
  await git(copy, "push", "--quiet", app.remote(project, anna), `${first}:refs/heads/main`);
});

async function recordedChanges(): Promise<readonly string[]> {
  const changes: string[] = [];
  for await (const { type, data, metadata } of app.store.readStream(repositoryStream(project.id))) {
    const who = metadata.actor.alias ?? "the system";
    changes.push(`${type} ${data["branch"] ?? data["tag"]} by ${who}`);
  }
  return changes;
}

const intents = () => app.db("push_intent").where({ project_id: project.id });
const tag = (name: string) => [{ ref: `refs/tags/${name}`, before: null, after: first }];

async function order(over: Partial<RefOrder> = {}): Promise<RefOrder> {
  const row = await findProjectById(app.db, project.id);
  if (row === undefined) throw new Error("no project");
  const actor = { userId: anna.id, alias: "anna", via: "token", tokenId: null } as const;
  const metadata = metadataFor(randomUUID(), { actor });
  return { project: row, role: "DEVELOPER", metadata, plan: async () => tag("v1"), ...over };
}

/** Calls a service that dies on the way; answers once it is dead. */
async function sendDying(when: string, key: string): Promise<void> {
  const stores = [app.databaseUrl, app.eventStoreUrl, app.dataDir, secretKey];
  const args = [...bundledArgs("test/support/process/dying-service.ts"), when, ...stores];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const ended = once(child, "close");
  const answer = await send(line.toString().trim(), key).catch(() => undefined);
  const [, signal] = (await ended) as [number | null, string | null];
  expect(answer).to.equal(undefined);
  expect(signal).to.equal("SIGKILL");
}

const send = (url: string, key: string): Promise<Response> =>
  fetch(`${url}${project.path}/tag/create`, {
    method: "POST",
    headers: {
      authorization: `token ${anna.token}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify({ tagName: "v1", message: "Annotated, so no two are alike" }),
  });

/** As if the dead process had held the key long ago. */
const leaseOver = () =>
  app
    .db("idempotent_answer")
    .update({ lease_until: new Date(0) })
    .whereNull("status");

describe("a service that dies while it changes a ref for a user", () => {
  for (const when of ["before", "after"]) {
    it(`${when} the event is written records the change once, and answers the repeated request`, async () => {
      const key = randomUUID();
      await sendDying(when, key);
      const object = await git(copy, "ls-remote", app.remote(project, anna), "refs/tags/v1");
      expect(object).to.contain("refs/tags/v1");
      await leaseOver();

      const answer = await send(app.url, key);

      expect(answer.status).to.equal(200);
      expect(object).to.contain(((await answer.json()) as { objectId: string }).objectId);
      expect(await recordedChanges()).to.deep.equal([
        "BranchCreated main by anna",
        "TagCreated v1 by anna",
      ]);
      expect(await intents()).to.deep.equal([]);
    });
  }

  it("and whose caller never tries again is accounted for by the healer", async () => {
    await sendDying("before", randomUUID());
    expect(await recordedChanges()).to.have.length(1);
    await app.refs.heal(new Date());
    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "TagCreated v1 by anna",
    ]);
  });
});

describe("changing refs", () => {
  it("is done anew when an attempt at the same command died before git heard of it", async () => {
    const requested = await order();
    const { metadata } = requested;
    const other = [{ ref: "refs/tags/v1", before: null, after: second }];
    await app.refs.begin({
      pushId: metadata.commandId,
      projectId: project.id,
      metadata,
      refs: other,
    });
    await expect(changeRefs(app, requested)).to.be.rejectedWith("still running");
    await intents().update({ created_at: new Date(Date.now() - 60_000) });

    const { refs } = await changeRefs(app, requested);
    const again = await changeRefs(app, requested);

    expect([...refs]).to.deep.equal([["refs/tags/v1", first]]);
    expect([...again.refs]).to.deep.equal([...refs]);
    expect(await intents()).to.deep.equal([]);
    expect(await recordedChanges()).to.have.length(2);
  });

  it("is done at once when an attempt at the same command announced the same and died", async () => {
    const requested = await order();
    const { metadata } = requested;
    const push = { pushId: metadata.commandId, projectId: project.id, metadata, refs: tag("v1") };
    await app.refs.begin(push);

    const { refs } = await changeRefs(app, requested);

    expect([...refs]).to.deep.equal([["refs/tags/v1", first]]);
    expect(await intents()).to.deep.equal([]);
    expect(await recordedChanges()).to.have.length(2);
  });

  it("names who requested it when the attempt that was taken for dead makes it after all", async () => {
    const requested = await order();
    const { metadata, project: row } = requested;
    const push = { pushId: metadata.commandId, projectId: project.id, metadata, refs: tag("v1") };
    await app.refs.begin(push);
    const repository = await app.git.ensure(row.id, row.default_branch);
    // Between the intent of this attempt and its own change.
    const change = async () => git(repository.gitDir, "update-ref", "refs/tags/v1", first);

    const { refs } = await changeRefs(app, { ...requested, first: change });

    expect([...refs]).to.deep.equal([["refs/tags/v1", first]]);
    expect(await intents()).to.deep.equal([]);
    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "TagCreated v1 by anna",
    ]);
  });

  it("names who requested it when the attempt that was taken for dead loses to it meanwhile", async () => {
    const requested = await order();
    const pushId = requested.metadata.commandId;
    const dead = { pushId, projectId: project.id, metadata: requested.metadata, refs: tag("v1") };
    const push = { ...dead, announcedAt: new Date(Date.now() - 1_000) };
    await app.refs.begin(push);
    const elsewhere = refRecorder(app, keyedLock());
    let hasLost = false;
    // Called between its change of the ref and the record of it.
    const find: typeof app.git.find = async (id) => {
      const isMade = (await intents()).some(({ done_order }) => done_order !== null);
      if (isMade && !hasLost) {
        hasLost = true;
        await elsewhere.finish(push, new Set());
      }
      return app.git.find(id);
    };
    const git = Object.assign(Object.create(app.git), { find });

    const { refs } = await changeRefs({ ...app, git }, requested);

    expect([hasLost, ...refs]).to.deep.equal([true, ["refs/tags/v1", first]]);
    expect(await intents()).to.deep.equal([]);
    expect((await recordedChanges()).slice(1)).to.deep.equal(["TagCreated v1 by anna"]);
  });

  it("is all or nothing", async () => {
    const plan = async () => [...tag("v1"), ...tag("main/x"), ...tag("main")];
    const changing = changeRefs(app, await order({ plan }));
    await expect(changing).to.be.rejected.then((error) => {
      expect(error).to.include({ code: "git.busy" });
    });
    expect(await recordedChanges()).to.have.length(1);
    expect(await intents()).to.deep.equal([]);
  });

  it("announces nothing before what is to be done first, and nothing at all when that refuses", async () => {
    const plan = async () => [{ ref: "refs/heads/main", before: first, after: second }];
    const kept = [{ ref: "refs/merge-requests/1/merge", id: second }];
    const refused = async () => {
      expect(await intents()).to.deep.equal([]);
      throw new Refusal("conflict", "not.first", "Not first");
    };
    const changing = changeRefs(app, await order({ plan, kept, first: refused }));
    await expect(changing).to.be.rejectedWith("Not first");
    const repository = await app.git.ensure(project.id, "main");
    const heads = () => git(repository.gitDir, "for-each-ref", "--format=%(objectname) %(refname)");
    expect(await heads()).to.equal(`${first} refs/heads/main`);
    expect(await intents()).to.deep.equal([]);

    await git(copy, "push", "--quiet", app.remote(project, anna), `${second}:refs/heads/other`);
    await changeRefs(app, await order({ plan, kept, first: async () => undefined }));
    expect(await heads()).to.include(`${second} refs/heads/main`);
    expect(await heads()).to.include(`${second} refs/merge-requests/1/merge`);
    // A ref of the service's own is no event of the repository.
    expect((await recordedChanges()).slice(2)).to.deep.equal(["BranchUpdated main by anna"]);
  });

  it("starts git after the check of locks where others have some", async () => {
    const lock = { id: randomUUID(), project_id: project.id, path: "locked.txt" };
    await app.db("lfs_lock").insert({ ...lock, locked_by_id: randomUUID(), locked_at: new Date() });
    const other = (await app.git.ensure(randomUUID(), "main")).gitDir;
    const { gitDir } = await app.git.ensure(project.id, "main");
    const seen = new Set<boolean>();
    const runningIn = async (directory: string) =>
      (await processes()).some(({ command }) => command.includes(directory));
    const first = async () => {
      const control = startUpdate({ gitDir: other });
      // A process that was started before it would run by then.
      await eventually(() => runningIn(other));
      seen.add(await runningIn(gitDir));
      control.drop();
    };
    await changeRefs(app, await order({ first }));
    expect([...seen]).to.deep.equal([false]);
    expect(await recordedChanges()).to.include("TagCreated v1 by anna");
  });

  it("decides anew what to do after a lost race when it may", async () => {
    const plannedFrom: (string | null)[] = [];
    const plan = async () => {
      const row = await app.db("git_ref").where({ project_id: project.id, name: "main" }).first();
      plannedFrom.push(row.object_id);
      // The first time, a concurrent push is faster.
      if (plannedFrom.length === 1) {
        await git(copy, "push", "--quiet", app.remote(project, anna), `${second}:refs/heads/main`);
      }
      return [{ ref: "refs/heads/main", before: row.object_id, after: second }];
    };
    const lost = changeRefs(app, await order({ plan }));
    await expect(lost).to.be.rejectedWith("by a concurrent request");
    await git(copy, "push", "--quiet", "-f", app.remote(project, anna), `${first}:refs/heads/main`);

    plannedFrom.length = 0;
    await changeRefs(app, await order({ plan, retries: true }));
    expect(plannedFrom).to.deep.equal([first, second]);
  });

  it("gives everybody a turn, however many change one branch at once", async () => {
    const anyone = async () => {
      const mine = async () => {
        const row = await app.db("git_ref").where({ project_id: project.id, name: "main" }).first();
        const tree = await git(repository.gitDir, "rev-parse", `${first}^{tree}`);
        const text = ["-m", randomUUID(), "-p", row.object_id, tree];
        const after = await git(repository.gitDir, "commit-tree", ...text);
        return [{ ref: "refs/heads/main", before: row.object_id, after }];
      };
      return changeRefs(app, await order({ plan: mine, retries: true }));
    };
    const repository = await app.git.ensure(project.id, "main");
    await Promise.all(Array.from({ length: 12 }, anyone));
    expect(await recordedChanges()).to.have.length(13);
  });

  it("waits for a place of its own among the intents when its command is under way twice", async () => {
    const requested = await order();
    const both = await Promise.allSettled([changeRefs(app, requested), changeRefs(app, requested)]);
    const done = both.filter(({ status }) => status === "fulfilled");
    expect(done).not.to.be.empty;
    expect(await recordedChanges()).to.have.length(2);
    expect(await intents()).to.deep.equal([]);
  });

  it("takes only names of branches, tags and notes", async () => {
    for (const ref of [
      "refs/replace/x",
      "HEAD",
      "refs/heads/../config",
      "refs/heads/a\ndelete b",
    ]) {
      const plan = async () => [{ ref, before: null, after: first }];
      await expect(changeRefs(app, await order({ plan })), ref).to.be.rejected;
    }
    expect(await recordedChanges()).to.have.length(1);
  });

  it("lets merges in where the rule about merging does, and pushes by the rule about pushing", async () => {
    const rule = { branchTemplate: "main", allowedToPush: "NO_ONE", allowedToMerge: "DEVELOPER" };
    const made = await fetch(`${app.url}${project.path}/branch-protection/create`, {
      method: "POST",
      headers: { authorization: `token ${anna.token}`, "content-type": "application/json" },
      body: JSON.stringify(rule),
    });
    expect(made.status).to.equal(200);
    const plan = async () => [{ ref: "refs/heads/main", before: first, after: second }];
    await git(copy, "push", "--quiet", app.remote(project, anna), `${second}:refs/heads/dev`);
    await expect(changeRefs(app, await order({ plan }))).to.be.rejectedWith("protected branch");
    await changeRefs(app, await order({ plan, merging: true }));
    expect((await recordedChanges()).at(-1)).to.equal("BranchUpdated main by anna");
  });
});
