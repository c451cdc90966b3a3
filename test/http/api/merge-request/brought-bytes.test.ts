import { randomBytes } from "node:crypto";
import { expect } from "chai";

import type { Refusal } from "../../../../src/platform/refusal.ts";
import { mustFitInFork } from "../../../../src/services/project/fork.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";
import { idOf, type Json } from "../../../support/git/merge-world.ts";

const app = await startTestApp({ config: { userBytesMax: 1_000_000 } });
const parent = await temporaryDirectory();
const at = "/project/anna/open";
let [anna, boris, carl, root]: TestUser[] = [];
let copy: string;
let id: string;
let forkId: unknown;

const remote = (user: TestUser, alias: string): string => {
  const url = new URL(`/project/${user.alias}/${alias}.git`, app.url);
  return Object.assign(url, { username: user.alias, password: user.token }).href;
};
const as = (user: TestUser | undefined, body?: unknown) => ({ token: user!.token, body });
const holds = async () => Number((await app.deps.db("public.quota_hold").count())[0]!["count"]);
const stored = async () => (await app.deps.git.find(id))!.bytes();

/** A branch of the fork with so many bytes that the project has not. */
async function branch(name: string, bytes: number): Promise<void> {
  await git(copy, "checkout", "--quiet", "-B", name, "main");
  await commit(copy, name, { [`${name}.bin`]: randomBytes(bytes) });
  await git(copy, "push", "--quiet", "--force", remote(boris!, "fork"), name);
}

const open = (name: string) =>
  app.post(
    `${at}/merge-request`,
    as(boris, {
      title: name,
      sourceBranch: { id: name },
      targetBranch: { id: "main" },
      sourceProject: { id: forkId },
    }),
  );
const usedBy = async (user: TestUser | undefined) =>
  Number((await app.get(`/admin/user/${user!.id}/quota`, as(root))).body["usedBytes"]);
const ended = (localId: number, verb: string) =>
  app.post(`${at}/merge-request/${localId}/${verb}`, as(boris));
const seen = async (localId: number): Promise<Json> =>
  (await app.get(`${at}/merge-request/${localId}`, as(anna))).body;

async function upload(bytes: number): Promise<number> {
  const body = new FormData();
  body.append("file", new Blob([Buffer.alloc(bytes, "a")]), "a.bin");
  const headers = { authorization: `token ${anna!.token}` };
  return (await fetch(`${app.url}${at}/file`, { method: "POST", headers, body })).status;
}

before(async () => {
  [anna, boris, carl] = await Promise.all(["anna", "boris", "carl"].map((x) => app.givenUser(x)));
  root = await app.givenUser("root", { admin: true });
  ({ id } = await app.givenProject(anna!, "open", { private: false }));
  copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "push", "--quiet", remote(anna!, "open"), "main");
  forkId = (await app.post(`${at}/fork`, as(boris, { alias: "fork" }))).body["id"];
  await app.put(`/admin/project/${id}/quota`, as(root, { allowedBytes: 500_000 }));
});

describe("what a request from a fork of who is no member brings", () => {
  afterEach(async () => expect(await holds()).to.equal(0));

  it("counts for its author, and leaves the project its room", async () => {
    await branch("first", 600_000);
    const opened = await open("first");
    expect(opened.status, opened.text).to.equal(200);
    expect(await usedBy(boris)).to.be.within(600_000, 610_000);
    expect(await upload(200_000)).to.equal(200);
  });

  it("is refused beyond what the author may bring, and leaves nothing", async () => {
    await branch("second", 600_000);
    const before = await stored();
    expect(codeOf(await open("second"))).to.deep.equal([422, "user.full"]);
    expect(await stored()).to.equal(before);
  });

  it("finds room for one of two at once where there is room for one", async () => {
    for (const name of ["one", "other"]) await branch(name, 300_000);
    const answers = await Promise.all(["one", "other"].map(open));
    const codes = answers.map(({ status }) => status).sort();
    expect(codes, answers.map(({ text }) => text).join()).to.deep.equal([200, 422]);
  });

  it("grows with what is pushed to the source later, as far as there is room", async () => {
    const before = await usedBy(boris);
    const shown = idOfHead(await seen(1));
    await git(copy, "checkout", "--quiet", "first");
    await commit(copy, "More", { "more.bin": randomBytes(30_000) });
    await git(copy, "push", "--quiet", remote(boris!, "fork"), "first");
    const moved = idOfHead(await seen(1));
    expect(moved).not.to.equal(shown);
    expect((await usedBy(boris)) - before).to.be.within(30_000, 35_000);
    await commit(copy, "Too much", { "more.bin": randomBytes(300_000) });
    await git(copy, "push", "--quiet", remote(boris!, "fork"), "first");
    expect(idOfHead(await seen(1))).to.equal(moved);
  });

  it("counts for the project once it is merged, and for the author while it is canceled", async () => {
    const before = await usedBy(boris);
    expect((await ended(2, "cancel")).status).to.equal(200);
    expect(await usedBy(boris)).to.equal(before);
    await branch("small", 20_000);
    expect((await open("small")).body).to.include({ localId: 3 });
    expect((await usedBy(boris)) - before).to.be.within(20_000, 25_000);
    const merged = await app.post(`${at}/merge-request/3/merge`, as(anna, {}));
    expect(idOf(merged.body["status"]), merged.text).to.equal("MERGED");
    expect(await usedBy(boris)).to.equal(before);
  });
});

describe("a fork", () => {
  it("is refused before it is made where it would be larger than a project may be", async () => {
    await branch("huge", 100_000);
    const limited = { ...app.deps.config, projectBytesMax: 50_000 };
    const deps = { ...app.deps, config: limited };
    const refused = mustFitInFork(deps, String(forkId)).catch(({ code }: Refusal) => code);
    expect(await refused).to.equal("project.full");
    await mustFitInFork(app.deps, String(forkId));
  });
});

describe("the refs of a request that ended unmerged", () => {
  const remove = (user: TestUser | undefined, localId: number) =>
    app.delete(`${at}/merge-request/${localId}/refs`, as(user));
  const kept = async (localId: number) =>
    git(copy, "ls-remote", remote(anna!, "open"), `refs/merge-requests/${localId}/*`);

  it("are not deleted while it is open or after it is merged", async () => {
    for (const localId of [1, 3]) {
      expect(codeOf(await remove(anna, localId))).to.deep.equal([409, "merge_request.not_ended"]);
      expect(await kept(localId)).not.to.equal("");
    }
  });

  it("are deleted by its author or an ADMIN, by nobody else, once", async () => {
    expect(await seen(2)).to.include({ refsDeleted: false });
    expect((await remove(carl, 2)).status).to.equal(403);
    const deleted = await remove(boris, 2);
    expect(deleted.status, deleted.text).to.equal(200);
    expect(deleted.body).to.include({ refsDeleted: true });
    expect(await kept(2)).to.equal("");
    const head = await app.head();
    expect((await remove(anna, 2)).body).to.include({ refsDeleted: true });
    expect(await app.head()).to.equal(head);
  });

  it("leave a request without changes and commits to show", async () => {
    for (const rest of ["changes", "commits"]) {
      const answer = await app.get(`${at}/merge-request/2/${rest}`, as(anna));
      expect(codeOf(answer)).to.deep.equal([404, "merge_request.refs_deleted"]);
    }
    for (const rest of ["", "/approvals", "/discussions", "/pipelines"]) {
      expect((await app.get(`${at}/merge-request/2${rest}`, as(anna))).status).to.be.below(500);
    }
  });

  it("are not there to open it again", async () => {
    await ended(1, "close");
    expect((await remove(anna, 1)).status).to.equal(200);
    expect(codeOf(await ended(1, "reopen"))).to.deep.equal([422, "merge_request.refs_deleted"]);
  });
});

const idOfHead = (body: Json): unknown => (body["sourceBranch"] as Json)["hash"];
