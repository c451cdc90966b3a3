import { expect } from "chai";
import { pushCountStream } from "../../../../src/events/user/push-count.ts";
import { rebuild } from "../../../../src/projections/core/rebuild.ts";
import { pushCountProjection } from "../../../../src/projections/user/push-count.ts";
import { refRecorder } from "../../../../src/services/git/ref-recorder.ts";
import { countPushes } from "../../../../src/workers/user/push-count.ts";
import { commit, git } from "../../../support/git/git.ts";
import { givenPushStats } from "../../../support/project/push-stats.ts";

const given = await givenPushStats();
const { app, remote, push, lastRevision, statsOf } = given;

describe("push statistics", () => {
  it("count a commit once, for who pushed it first, on whatever branch or tag it comes again", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await push(given.anna, "main");
    await push(given.bob, "main:again", "main:refs/tags/v1");
    await commit(given.copy, "Two", { "b.go": "1" });
    await push(given.bob, "main:refs/tags/v2");
    await push(given.anna, "main");
    expect(await statsOf(given.anna)).to.deep.equal({ ".ts": "100.00%" });
    expect(await statsOf(given.bob)).to.deep.equal({ ".go": "100.00%" });
  });

  it("count what a forced push brings, and not again what it takes back", async () => {
    const first = await commit(given.copy, "One", { "a.ts": "1" });
    const second = await commit(given.copy, "Two", { "b.ts": "1" });
    await push(given.anna, "main");
    await git(given.copy, "reset", "--quiet", "--hard", first);
    const other = await commit(given.copy, "Other", { "c.py": "1", "d.Makefile": "" });
    await push(given.anna, "-f", "main");
    await push(given.anna, "-f", `${second}:refs/heads/main`);
    await push(given.anna, "-f", `${other}:refs/heads/main`);
    expect(await statsOf(given.anna)).to.deep.equal({
      ".ts": "50.00%",
      ".makefile": "25.00%",
      ".py": "25.00%",
    });
  });

  it("count nothing twice because of a merge", async () => {
    await commit(given.copy, "One", { "a.ts": "1\n" });
    await push(given.anna, "main");
    await git(given.copy, "checkout", "--quiet", "-b", "side");
    await commit(given.copy, "Side", { "s.py": "1\n" });
    await push(given.anna, "side");
    await git(given.copy, "checkout", "--quiet", "main");
    await git(given.copy, "merge", "--quiet", "--no-ff", "-m", "Merge", "side");
    await push(given.bob, "main");
    expect(await statsOf(given.anna)).to.deep.equal({ ".py": "50.00%", ".ts": "50.00%" });
    expect(await statsOf(given.bob)).to.deep.equal({});
    const tips = await app.deps.db("push_tip").where({ project_id: given.project.id });
    expect(tips.map(({ commit_id }) => commit_id)).to.deep.equal([
      await git(given.copy, "rev-parse", "main"),
    ]);
  });

  it("count in a fork what was first pushed there, and in another project everything", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await push(given.anna, "main");
    const forked = await app.post(`/project/${given.anna.alias}/search/fork`, {
      token: given.bob.token,
      body: { ownerAlias: given.bob.alias, ownerAliasType: "USER" },
    });
    expect(forked.status, forked.text).to.equal(200);
    const forkId = String(forked.body["id"]);
    expect(await statsOf(given.bob, forkId)).to.deep.equal({});
    await commit(given.copy, "Two", { "b.rs": "1" });
    await git(
      given.copy,
      "push",
      "--quiet",
      remote(given.bob, `${given.bob.alias}/search`),
      "main",
    );
    expect(await statsOf(given.bob, forkId)).to.deep.equal({ ".rs": "100.00%" });

    const other = await app.givenProject(given.bob, "other");
    await git(given.copy, "push", "--quiet", remote(given.bob, `${given.bob.alias}/other`), "main");
    expect(await statsOf(given.bob, other.id)).to.deep.equal({ ".rs": "66.67%", ".ts": "33.33%" });
  });

  it("are the same after a rebuild, and however often the work is done again", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await push(given.anna, "main");
    // Counted by itself: what waits together is counted together.
    await statsOf(given.anna);
    await commit(given.copy, "Two", { "b.md": "1" });
    await push(given.anna, "main");
    const before = await statsOf(given.anna);
    await app.deps.db("push_count_progress").where({ project_id: given.project.id }).delete();
    const { signal } = new AbortController();
    const again = () => countPushes(app.deps, given.project.id, 1, signal);
    await Promise.all([again(), again(), again()]);
    expect(
      await lastRevision(pushCountStream(given.project.id), ({ revision }) => revision),
    ).to.equal(1);

    const { config, db, store, vault, log } = app.platform;
    const { databaseUrl } = config;
    const projections = [pushCountProjection];
    const deps = { databaseUrl, db, store, projections, context: { open: vault.open }, log };
    await rebuild(deps, projections, { signal });
    expect(await statsOf(given.anna)).to.deep.equal(before);
  });

  it("count for nobody what was found in the repository", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    const { gitDir } = await app.deps.git.ensure(given.project.id, "main");
    await git(given.copy, "push", "--quiet", gitDir, "main:refs/heads/outside");
    await refRecorder(app.deps).reconcile(given.project.id);
    await push(given.anna, "main");
    expect(await statsOf(given.anna)).to.deep.equal({});
  });
});
