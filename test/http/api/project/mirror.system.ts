import { expect } from "chai";
import { repositoryStream } from "../../../../src/events/repository/repository.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { commit, git } from "../../../support/git/git.ts";
import { as, at, givenMirrors, token } from "../../../support/project/mirrors.ts";

const mirrors = await givenMirrors();
const {
  app,
  other,
  remote,
  refsAt,
  mirrored,
  state,
  failure,
  recordedTypes,
  mirrorEvents,
  given,
  mirror,
} = mirrors;

describe("a PULL mirror", () => {
  it("brings branches and tags as a push would, and follows what changes there", async () => {
    const id = await given("pulled");
    const shown = await mirror("pulled", { type: "PULL" });
    const url = other.url("pulled");
    const fields = { mirror: true, mirrorType: "PULL", mirrorUrl: url, pullMirrorUrl: url };
    expect(shown).to.include(fields);
    await mirrored("pulled", "pulled");
    // The events are written after the repository has the refs.
    await eventually(async () =>
      expect(await recordedTypes(repositoryStream(id))).to.deep.equal([
        "BranchCreated",
        "BranchCreated",
        "TagCreated",
      ]),
    );

    const next = await commit(mirrors.copy, "Two", { "b.txt": "b\n" });
    await git(mirrors.copy, "push", "--quiet", url, "main", ":dev", ":v1", "main:topic/new");
    expect((await app.post(`${at("pulled")}/mirror/sync`, as(mirrors.anna))).status).to.equal(200);
    await mirrored("pulled", "pulled");
    expect(await refsAt(remote("pulled")))
      .to.contain(next)
      .and.not.contain("dev");
    const listed = await app.get(`/project/my?q=pulled`, as(mirrors.anna));
    expect(listed.text).to.contain(`"pullMirrorUrl":"${url}"`);
    const status = await eventually(async () => {
      const body = await state("pulled");
      return body["status"] === "SUCCESS" && body;
    });
    expect(status).to.include({ type: "PULL", url, failures: 0, error: null });
  });

  it("takes the default branch over when it has no such branch itself", async () => {
    const directory = await other.create("renamed");
    await git(mirrors.copy, "push", "--quiet", other.url("renamed"), "main:trunk", "main:another");
    await git(directory, "symbolic-ref", "HEAD", "refs/heads/trunk");
    await app.givenProject(mirrors.anna, "renamed");
    await mirror("renamed", { type: "PULL" });
    await mirrored("renamed", "renamed");
    await eventually(async () =>
      expect((await app.get(at("renamed"), as(mirrors.anna))).body).to.include({
        defaultBranch: "trunk",
      }),
    );
  });

  it("leaves refs alone that the project's rules protect, and reports it", async () => {
    await given("guarded");
    const rule = { branchTemplate: "dev", allowForcePush: false };
    const made = await app.post(
      `${at("guarded")}/branch-protection/create`,
      as(mirrors.anna, rule),
    );
    expect(made.status, made.text).to.equal(200);
    await mirror("guarded", { type: "PULL" });
    await mirrored("guarded", "guarded");
    await git(mirrors.copy, "push", "--quiet", other.url("guarded"), ":dev", "main:more");
    await app.post(`${at("guarded")}/mirror/sync`, as(mirrors.anna));
    expect(await failure("guarded")).to.equal("mirror.protected");
    const refs = await refsAt(remote("guarded"));
    expect(refs).to.contain("refs/heads/dev").and.to.contain("refs/heads/more");
    const { error, failures } = await state("guarded");
    expect(error).to.contain("refs/heads/dev");
    expect(failures).to.equal(0);
  });
});

describe("a PUSH mirror", () => {
  it("makes the other repository follow, after each push", async () => {
    await other.create("pushed");
    await app.givenProject(mirrors.anna, "pushed");
    await git(mirrors.copy, "push", "--quiet", remote("pushed"), "main", "v1");
    const shown = await mirror("pushed", { type: "PUSH" });
    expect(shown).to.include({ mirror: true, mirrorType: "PUSH", pullMirrorUrl: null });
    await mirrored("pushed", "pushed");

    await commit(mirrors.copy, "Three", { "c.txt": "c\n" });
    await git(mirrors.copy, "push", "--quiet", remote("pushed"), "main", ":v1", "main:dev");
    await mirrored("pushed", "pushed");
  });

  it("says what the other server does not take", async () => {
    const directory = await other.create("refusing");
    await git(directory, "config", "receive.denyNonFastForwards", "true");
    await git(directory, "config", "receive.denyDeletes", "true");
    await app.givenProject(mirrors.anna, "refusing");
    await git(mirrors.copy, "push", "--quiet", other.url("refusing"), "main", "main:stays");
    await git(mirrors.copy, "push", "--quiet", remote("refusing"), "main");
    await mirror("refusing", { type: "PUSH" });
    expect(await failure("refusing")).to.equal("remote.rejected");
  });
});

describe("the credentials of a mirror", () => {
  it("are not kept for another URL", async () => {
    await given("moved");
    other.require("carl", token);
    await mirror("moved", { type: "PULL", username: "carl", token });
    await eventually(async () => (await state("moved"))["status"] === "SUCCESS", 60_000);
    other.received.length = 0;
    await mirror("moved", { type: "PULL", url: other.url("elsewhere") });
    expect(await failure("moved")).to.equal("remote.authentication");
    const sent = other.received.filter(({ url }) => url.startsWith("/elsewhere"));
    expect(sent).not.to.deep.equal([]);
    expect(sent.every(({ headers }) => headers.authorization === undefined)).to.equal(true);
  });

  it("are recorded once when they are wrong, and when they are right again", async () => {
    const id = await given("locked");
    other.require("carl", token);
    await mirror("locked", { type: "PULL", username: "carl", token: "wrong" });
    expect(await failure("locked")).to.equal("remote.authentication");
    const { failures, nextAt, error } = await state("locked");
    expect(error).to.equal("The server refuses the credentials.");
    expect(failures).to.equal(1);
    expect(Date.parse(String(nextAt))).to.be.greaterThan(Date.now() + 30_000);
    await app.post(`${at("locked")}/mirror/sync`, as(mirrors.anna));
    await eventually(async () => (await state("locked"))["failures"] === 2, 60_000);
    other.reset();
    await app.post(`${at("locked")}/mirror/sync`, as(mirrors.anna));
    await mirrored("locked", "locked");
    await eventually(async () => (await mirrorEvents(id)).at(-1) === "MirrorRecovered");
    expect((await mirrorEvents(id)).filter((type) => type !== "MirrorSyncRequested")).to.deep.equal(
      ["MirrorConfigured", "MirrorFailed", "MirrorRecovered"],
    );
  });
});
