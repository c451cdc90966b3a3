import { createHash, randomBytes, randomUUID } from "node:crypto";
import { expect } from "chai";
import { ObjectId } from "../../../../src/events/core/ids.ts";
import { bySystem } from "../../../../src/events/core/system.ts";
import type { Refusal } from "../../../../src/platform/refusal.ts";
import { findProjectById } from "../../../../src/projections/project/project.ts";
import { bringSource } from "../../../../src/services/merge-request/bring-source.ts";
import { withNewestSource } from "../../../../src/services/merge-request/source.ts";
import { codeOf } from "../../../support/app/answer.ts";
import type { TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { commit, git, tryGit } from "../../../support/git/git.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { givenForkRequest } from "../../../support/merge-request/fork-request.ts";

const given = await givenForkRequest();
const { app, anna, bob, carl, push, open, forkAt } = given;

/** What the worker does after a push. */
async function follow(): Promise<void> {
  const row = await app.deps
    .db("merge_request")
    .where({ project_id: given.world.project.id })
    .first();
  await withNewestSource(app.deps, row);
}

const refusalOf = (done: Promise<void>): Promise<string | undefined> =>
  done.then(
    () => undefined,
    (error: Refusal) => error.code,
  );

const idOfHead = ({ body }: Readonly<{ body: Json }>): unknown =>
  (body["sourceBranch"] as Json)["hash"];

/** Text, so that answers can be compared as text. */
const content = (bytes: number): Buffer => Buffer.from(randomBytes(bytes / 2).toString("hex"));

const oidOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

const pointerTo = (bytes: Buffer): string =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(bytes)}\nsize ${bytes.length}\n`;

const lfsAt = (project: string, bytes: Buffer): string =>
  `${project}.git/info/lfs/objects/${oidOf(bytes)}`;

const basic = ({ alias, token }: TestUser) => ({
  authorization: basicAuth(alias, token),
});

async function bring(project: string, user: TestUser, bytes: Buffer): Promise<void> {
  const at = `${lfsAt(project, bytes)}/${bytes.length}`;
  const stored = await app.send("PUT", at, { headers: basic(user), body: bytes });
  expect(stored.status, stored.text).to.equal(200);
}

const download = (project: string, user: TestUser, bytes: Buffer) =>
  app.get(lfsAt(project, bytes), { headers: basic(user) });

describe("a merge request from a fork", () => {
  it("shows pipelines of a private fork to its readers only, and counts them for all", async () => {
    const configuration = given.world.at("/merge-request/approval/configuration/edit");
    const body = { checkCiCdStatus: true };
    await app.send("PATCH", configuration, { token: anna.token, body });
    await push(".forge-ci.yaml", "build:\n  script: [make]\n");
    await open();
    const start = { token: carl.token, body: { refName: "work", isTag: false } };
    const started = await app.post(forkAt("/cicd/pipeline/start"), start);
    expect(started.status, started.text).to.equal(200);
    const listed = async (user: TestUser) => {
      const { body: list } = await given.world.get(user, "/merge-request/1/pipelines");
      const { restPipelineModelList: rows } = list["_embedded"] as Record<string, Json[]>;
      return rows?.map(({ projectId }) => projectId);
    };
    expect(await listed(carl)).to.deep.equal([given.forkId]);
    expect(await listed(bob)).to.deep.equal([]);
    const met = async () =>
      (await given.world.get(bob, "/merge-request/1")).body["mergeRequirements"];
    expect(await met()).to.include({ LAST_PIPELINE_SUCCESS: false });
    await app.post(forkAt("/cicd/pipeline/1/cancel"), { token: carl.token });
    const status = { name: "outside", status: "SUCCESS" };
    const commitAt = `/commit/${started.body["commitId"]}/status`;
    await given.world.post(bob, commitAt, status);
    // The pipeline of the fork failed, whatever is reported at the target.
    expect(await met()).to.include({ LAST_PIPELINE_SUCCESS: false });
    await app.delete(forkAt("/cicd/pipeline/1/delete"), { token: carl.token });
    expect(await met()).to.include({ LAST_PIPELINE_SUCCESS: true });
  });

  it("follows pushes to the fork, and lets the target's readers fetch them", async () => {
    await open();
    const head = await push("g.txt", "second\n");
    const { body } = await given.world.get(bob, "/merge-request/1");
    expect(body["sourceBranch"]).to.include({ hash: head });
    await git(
      given.world.copy,
      "fetch",
      "--quiet",
      given.world.remote(bob),
      "refs/merge-requests/1/head",
    );
    expect(await git(given.world.copy, "rev-parse", "FETCH_HEAD")).to.equal(head);
    const fsck = await tryGit(given.world.copy, [
      `--git-dir=${given.world.gitDir}`,
      "fsck",
      "--full",
      "--strict",
    ]);
    expect(fsck.exitCode, fsck.stderr).to.equal(0);
  });

  it("takes nothing from the fork while its author cannot read the target", async () => {
    const before = idOfHead(await open());
    const invited = { userAlias: "carl", role: "REPORTER" };
    await app.delete(given.world.at("/member/carl"), { token: anna.token });
    const head = await push("g.txt", "from outside\n");
    await follow();
    expect(idOfHead(await given.world.get(bob, "/merge-request/1"))).to.equal(before);
    const inTarget = ["-C", given.world.gitDir, "cat-file", "-e", head];
    expect((await tryGit(given.world.copy, inTarget)).exitCode).not.to.equal(0);
    await given.world.post(anna, "/member/invite", invited);
    expect(idOfHead(await given.world.get(bob, "/merge-request/1"))).to.equal(head);
    expect((await tryGit(given.world.copy, inTarget)).exitCode).to.equal(0);
  });

  it("is merged from the versions kept when the fork is deleted and its author gone", async () => {
    await open();
    expect(
      (await app.delete(`/project/${given.forkId}/delete`, { token: carl.token })).status,
    ).to.equal(200);
    const { body: seen } = await given.world.get(bob, "/merge-request/1");
    expect(seen["sourceProject"]).to.include({ isDeleted: true });
    expect(seen["sourceBranch"]).to.include({ isDeleted: true });
    await app.delete(given.world.at("/member/carl"), { token: anna.token });
    const { body } = await given.world.get(bob, "/merge-request/1");
    expect(body).to.include({ canMerge: true });
    expect(body["createdBy"]).to.include({ id: carl.id });
    expect(codeOf(await given.world.get(carl, "/merge-request/1"))).to.deep.equal([
      403,
      "auth.role_missing",
    ]);
    expect((await given.world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
    await git(given.world.copy, "fetch", "--quiet", "origin");
    expect(await git(given.world.copy, "show", "origin/main:f.txt")).to.equal("fork");
  });

  it("does not let commits past the locks of others in the target", async () => {
    await open();
    const lock = await app.post(given.world.at(".git/info/lfs/locks"), {
      token: bob.token,
      body: { path: "f.txt" },
      headers: {
        accept: "application/vnd.git-lfs+json",
        authorization: basicAuth("bob", bob.token),
      },
    });
    expect(lock.status, lock.text).to.equal(201);
    const view = (await given.world.get(anna, "/merge-request/1")).body;
    expect(view).to.deep.include({ hasLockConflicts: true, lockConflicts: ["f.txt"] });
    expect(codeOf(await given.world.post(anna, "/merge-request/1/merge"))).to.deep.equal([
      409,
      "lfs_lock.of_others",
    ]);
    // The commits are in the repository already, kept by the request; a push is still held back.
    const pushed = await tryGit(given.world.copy, ["push", "origin", "theirs:refs/heads/around"]);
    expect(pushed.exitCode).not.to.equal(0);
    expect(pushed.stderr).to.contain("f.txt is locked by bob");
    expect((await given.world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
  });

  describe("with objects of LFS", () => {
    it("gives the target what its commits point to, for all its readers, and nothing else", async () => {
      const [shown, hidden] = [content(300), content(300)];
      await bring(forkAt(""), carl, shown);
      await bring(forkAt(""), carl, hidden);
      await push("art.bin", pointerTo(shown));
      expect((await download(given.world.at(""), bob, shown)).status).to.equal(404);
      const opened = await open();
      expect(opened.status, opened.text).to.equal(200);
      expect((await download(given.world.at(""), bob, shown)).text).to.equal(shown.toString());
      expect((await download(given.world.at(""), bob, hidden)).status).to.equal(404);
      const outside = await app.givenUser(`out-${given.world.project.alias}`);
      expect((await download(given.world.at(""), outside, shown)).status).to.equal(403);
    });

    it("gives it what is pushed to the request later, once, also for several readers", async () => {
      await open();
      const later = content(300);
      await bring(forkAt(""), carl, later);
      await push("later.bin", pointerTo(later));
      await Promise.all([follow(), follow()]);
      expect((await download(given.world.at(""), anna, later)).text).to.equal(later.toString());
      const merged = await given.world.post(bob, "/merge-request/1/merge");
      expect(merged.status, merged.text).to.equal(200);
      expect(await app.deps.db("lfs_object").where({ oid: oidOf(later) })).to.have.length(2);
    });

    it("is refused when the target has no room for them", async () => {
      const large = content(60_000);
      await bring(forkAt(""), carl, large);
      await push("large.bin", pointerTo(large));
      const root = await app.givenUser(`root-${given.world.project.alias}`, { admin: true });
      const quota = `/admin/project/${given.world.project.id}/quota`;
      await app.put(quota, { token: root.token, body: { allowedBytes: 55_000 } });
      expect(codeOf(await open())).to.deep.equal([422, "project.full"]);
      await app.put(quota, { token: root.token, body: { allowedBytes: null } });
      expect((await open()).status).to.equal(200);
    });

    it("gives nothing to a target that refuses the request", async () => {
      await open();
      const late = content(300);
      await bring(forkAt(""), carl, late);
      await push("late.bin", pointerTo(late));
      expect(codeOf(await open())).to.deep.equal([422, "merge_request.pair_taken"]);
      // What is appended now shows when all before it does.
      await bring(forkAt(""), carl, content(300));
      const stored = { project_id: given.world.project.id, oid: oidOf(late) };
      expect(await app.deps.db("lfs_object").where(stored)).to.deep.equal([]);
    });

    it("finds room for one of two that come at once where there is room for one", async () => {
      const root = await app.givenUser(`both-${given.world.project.alias}`, { admin: true });
      const branches = ["work", "other"];
      for (const branch of branches) {
        const large = content(60_000);
        await bring(forkAt(""), carl, large);
        await git(given.world.copy, "checkout", "--quiet", "-B", "theirs", "main");
        await commit(given.world.copy, branch, { [`${branch}.bin`]: pointerTo(large) });
        await git(given.world.copy, "push", "--quiet", "--force", given.remote, `theirs:${branch}`);
      }
      const quota = `/admin/project/${given.world.project.id}/quota`;
      await app.put(quota, { token: root.token, body: { allowedBytes: 115_000 } });
      const opened = await Promise.all(branches.map((id) => open(carl, { sourceBranch: { id } })));
      expect(opened.map(({ status }) => status).sort()).to.deep.equal([200, 422]);
      const stored = { project_id: given.world.project.id };
      expect(await app.deps.db("lfs_object").where(stored)).to.have.length(1);
    });

    it("keeps its room until the objects count, also where the request shows before", async () => {
      const shown = content(300);
      await bring(forkAt(""), carl, shown);
      const sourceCommit = ObjectId.parse(await push("shown.bin", pointerTo(shown)));
      const target = await findProjectById(app.deps.db, String(given.world.project.id));
      const waited: (bigint | undefined)[] = [];
      const deps = { ...app.deps, visible: async (at: bigint | undefined) => void waited.push(at) };
      const brought = {
        ...{ sourceProjectId: String(given.forkId), authorId: carl.id, sourceCommit },
        target: target ?? expect.fail("The target is not there."),
      };
      const metadata = bySystem({ commandId: randomUUID() }, new Date().toISOString());
      const around = { open: async () => undefined, keep: async () => 1n };
      await bringSource(deps, brought, metadata, around);
      let inherited: bigint | undefined;
      for await (const { type, position } of app.deps.store.readAll()) {
        if (type === "LfsObjectsInherited") inherited = position;
      }
      expect(waited).to.include(inherited).and.include(1n);
    });

    it("shows the request as it is where there is no room for what came later, without looking again", async () => {
      const before = idOfHead(await open());
      const late = content(60_000);
      await bring(forkAt(""), carl, late);
      await push("late.bin", pointerTo(late));
      const root = await app.givenUser(`late-${given.world.project.alias}`, { admin: true });
      const quota = `/admin/project/${given.world.project.id}/quota`;
      await app.put(quota, { token: root.token, body: { allowedBytes: 55_000 } });
      expect(await refusalOf(follow())).to.equal("project.full");
      for (const rest of ["", "/commits"]) {
        const seen = await given.world.get(bob, `/merge-request/1${rest}`);
        expect(seen.status, seen.text).to.equal(200);
        if (rest === "") expect(idOfHead(seen)).to.equal(before);
      }
      // Looked through again, the commits would point to nothing that is missing.
      await app.deps
        .db("lfs_object")
        .where({ oid: oidOf(late) })
        .delete();
      expect(await refusalOf(follow())).to.equal("project.full");
      await app.put(quota, { token: root.token, body: { allowedBytes: null } });
      expect(await refusalOf(follow())).to.equal(undefined);
      expect(idOfHead(await given.world.get(bob, "/merge-request/1"))).not.to.equal(before);
    });

    it("leaves a fork without objects that no commit of it points to", async () => {
      const [shown, hidden] = [content(300), content(300)];
      await bring(given.world.at(""), anna, shown);
      await bring(given.world.at(""), anna, hidden);
      await given.world.branch({ "art.bin": pointerTo(shown) });
      const alias = `second-${given.world.project.alias}`;
      const fork = await given.world.post(carl, "/fork", { ownerAlias: "carl", alias });
      expect(fork.status, fork.text).to.equal(200);
      const second = `/project/carl/${alias}`;
      expect((await download(second, carl, shown)).text).to.equal(shown.toString());
      expect((await download(second, carl, hidden)).status).to.equal(404);
    });
  });
});
