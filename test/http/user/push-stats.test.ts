import { expect } from "chai";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { pushCountStream } from "../../../src/events/user/push-count.ts";
import { refRecorder } from "../../../src/git/ref-recorder.ts";
import { rebuild } from "../../../src/projections/core/rebuild.ts";
import { pushCountProjection } from "../../../src/projections/user/push-count.ts";
import { countPushes } from "../../../src/workers/user/push-count.ts";
import { startTestApp, type TestProject, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const app = await startTestApp({ workers: true });
const parent = await temporaryDirectory();
let count = 0;
let anna: TestUser;
let bob: TestUser;
let root: TestUser;
let project: TestProject;
let copy: string;

before(async () => {
  root = await app.givenUser("root", { admin: true });
});

beforeEach(async () => {
  count += 1;
  anna = await app.givenUser(`anna-${count}`);
  bob = await app.givenUser(`bob-${count}`);
  project = await app.givenProject(anna, "search", { private: false });
  const body = { userAlias: bob.alias, role: "DEVELOPER" };
  await app.post(`/project/${anna.alias}/search/member/invite`, { token: anna.token, body });
  copy = await workingCopy(parent, `copy-${count}`);
});

function remote(user: TestUser, at = `${anna.alias}/search`): string {
  const url = new URL(`/project/${at}.git`, app.url);
  Object.assign(url, { username: user.alias, password: user.token });
  return url.href;
}

const push = (user: TestUser, ...refspecs: string[]) =>
  git(copy, "push", "--quiet", remote(user), ...refspecs);

async function lastRevision(stream: string, of: (data: Record<string, unknown>) => unknown) {
  for await (const event of app.platform.store.readStreamBackwards(stream, 1)) {
    return of({ ...event.data, revision: Number(event.revision) });
  }
  return undefined;
}

/** Once everything pushed to the project so far is counted: what the user's statistics say. */
async function statsOf(user: TestUser, projectId: string = project.id) {
  const last = await lastRevision(repositoryStream(projectId), ({ revision }) => revision);
  await eventually(async () => {
    const row = await app.deps
      .db("push_count_progress")
      .where({ project_id: projectId })
      .first("revision");
    return Number(row?.revision ?? -1) >= Number(last);
  });
  const at = `/user/push-stats/specified-users?userAlias=${user.alias}`;
  const { body, status, text } = await app.get(at, { token: root.token });
  expect(status, text).to.equal(200);
  const [entry] = body["pushStats"] as Entry[];
  return Object.fromEntries(
    entry!.pushedFileExtensions.map(({ fileExtension, percent }) => [fileExtension, percent]),
  );
}

type Entry = Readonly<{
  userSimple: Readonly<{ username: string }>;
  pushedFileExtensions: readonly Readonly<{ fileExtension: string; percent: string }>[];
}>;

describe("push statistics", () => {
  it("count a kind of file once a commit, as parts with two decimals", async () => {
    await commit(copy, "One", { "a.ts": "1", "b.ts": "1", "c.md": "1" });
    await commit(copy, "Two", { "a.ts": "2" });
    await push(anna, "main");
    expect(await statsOf(anna)).to.deep.equal({ ".ts": "66.67%", ".md": "33.33%" });
    expect(await statsOf(bob)).to.deep.equal({});
  });

  it("count a commit once, for who pushed it first, on whatever branch or tag it comes again", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await push(anna, "main");
    await push(bob, "main:again", "main:refs/tags/v1");
    await commit(copy, "Two", { "b.go": "1" });
    await push(bob, "main:refs/tags/v2");
    await push(anna, "main");
    expect(await statsOf(anna)).to.deep.equal({ ".ts": "100.00%" });
    expect(await statsOf(bob)).to.deep.equal({ ".go": "100.00%" });
  });

  it("count what a forced push brings, and not again what it takes back", async () => {
    const first = await commit(copy, "One", { "a.ts": "1" });
    const second = await commit(copy, "Two", { "b.ts": "1" });
    await push(anna, "main");
    await git(copy, "reset", "--quiet", "--hard", first);
    const other = await commit(copy, "Other", { "c.py": "1", "d.Makefile": "" });
    await push(anna, "-f", "main");
    await push(anna, "-f", `${second}:refs/heads/main`);
    await push(anna, "-f", `${other}:refs/heads/main`);
    expect(await statsOf(anna)).to.deep.equal({
      ".ts": "50.00%",
      ".makefile": "25.00%",
      ".py": "25.00%",
    });
  });

  it("count nothing twice because of a merge", async () => {
    await commit(copy, "One", { "a.ts": "1\n" });
    await push(anna, "main");
    await git(copy, "checkout", "--quiet", "-b", "side");
    await commit(copy, "Side", { "s.py": "1\n" });
    await push(anna, "side");
    await git(copy, "checkout", "--quiet", "main");
    await git(copy, "merge", "--quiet", "--no-ff", "-m", "Merge", "side");
    await push(bob, "main");
    expect(await statsOf(anna)).to.deep.equal({ ".py": "50.00%", ".ts": "50.00%" });
    expect(await statsOf(bob)).to.deep.equal({});
    const tips = await app.deps.db("push_tip").where({ project_id: project.id });
    expect(tips.map(({ commit_id }) => commit_id)).to.deep.equal([
      await git(copy, "rev-parse", "main"),
    ]);
  });

  it("count in a fork what was first pushed there, and in another project everything", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await push(anna, "main");
    const forked = await app.post(`/project/${anna.alias}/search/fork`, {
      token: bob.token,
      body: { ownerAlias: bob.alias, ownerAliasType: "USER" },
    });
    expect(forked.status, forked.text).to.equal(200);
    const forkId = String(forked.body["id"]);
    expect(await statsOf(bob, forkId)).to.deep.equal({});
    await commit(copy, "Two", { "b.rs": "1" });
    await git(copy, "push", "--quiet", remote(bob, `${bob.alias}/search`), "main");
    expect(await statsOf(bob, forkId)).to.deep.equal({ ".rs": "100.00%" });

    const other = await app.givenProject(bob, "other");
    await git(copy, "push", "--quiet", remote(bob, `${bob.alias}/other`), "main");
    expect(await statsOf(bob, other.id)).to.deep.equal({ ".rs": "66.67%", ".ts": "33.33%" });
  });

  it("are the same after a rebuild, and however often the work is done again", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await push(anna, "main");
    // Counted by itself: what waits together is counted together.
    await statsOf(anna);
    await commit(copy, "Two", { "b.md": "1" });
    await push(anna, "main");
    const before = await statsOf(anna);
    await app.deps.db("push_count_progress").where({ project_id: project.id }).delete();
    const { signal } = new AbortController();
    const again = () => countPushes(app.deps, project.id, 1, signal);
    await Promise.all([again(), again(), again()]);
    expect(await lastRevision(pushCountStream(project.id), ({ revision }) => revision)).to.equal(1);

    const { config, db, store, vault, log } = app.platform;
    const { databaseUrl } = config;
    const projections = [pushCountProjection];
    const deps = { databaseUrl, db, store, projections, context: { open: vault.open }, log };
    await rebuild(deps, projections, { signal });
    expect(await statsOf(anna)).to.deep.equal(before);
  });

  it("count for nobody what was found in the repository", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    const { gitDir } = await app.deps.git.ensure(project.id, "main");
    await git(copy, "push", "--quiet", gitDir, "main:refs/heads/outside");
    await refRecorder(app.deps).reconcile(project.id);
    await push(anna, "main");
    expect(await statsOf(anna)).to.deep.equal({});
  });
});

describe("GET /user/push-stats/all", () => {
  it("shows all users, twenty a page, to administrators alone", async () => {
    const { body, status } = await app.get("/user/push-stats/all", { token: root.token });
    expect(status).to.equal(200);
    expect(body["page"]).to.deep.equal({
      size: 20,
      number: 0,
      totalElements: 1 + 2 * count,
      totalPages: Math.ceil((1 + 2 * count) / 20),
    });
    const [entry] = body["pushStats"] as Entry[];
    expect(entry!.userSimple).to.have.all.keys(
      "id,username,name,surname,fullName,avatar,cover".split(","),
    );
    const refused = await app.get("/user/push-stats/all", { token: anna.token });
    expect([refused.status, refused.body["code"]]).to.deep.equal([403, "auth.admin_required"]);
  });
});

describe("GET /user/push-stats/specified-users", () => {
  const at = "/user/push-stats/specified-users";
  const get = (query: string) => app.get(at + query, { token: root.token });

  it("shows the requested users, in that order, each once", async () => {
    const query = `?userAlias=${bob.alias}&userAlias=${anna.alias}&userAlias=${bob.alias}`;
    const { body } = await get(query);
    const names = (body["pushStats"] as Entry[]).map(({ userSimple }) => userSimple.username);
    expect(names).to.deep.equal([bob.alias, anna.alias]);
    expect(body["page"]).to.deep.equal({ size: 20, number: 0, totalElements: 2, totalPages: 1 });
    expect((await get(`${query}&size=1&page=1`)).body["pushStats"]).to.have.length(1);
  });

  it("is refused without a name, and with one that nobody has", async () => {
    expect((await get("")).status).to.equal(422);
    const unknown = await get("?userAlias=nobody");
    expect([unknown.status, unknown.body["code"]]).to.deep.equal([404, "user.not_found"]);
  });
});
