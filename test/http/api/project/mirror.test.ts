import { expect } from "chai";
import { mirrorStream } from "../../../../src/events/project/mirror.ts";
import { repositoryStream } from "../../../../src/events/repository/repository.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { git, tryGit } from "../../../support/git/git.ts";
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
  it("takes no pushes by people, and says why", async () => {
    await given("closed");
    await mirror("closed", { type: "PULL" });
    await mirrored("closed", "closed");
    const before = await refsAt(remote("closed"));
    const pushed = await tryGit(mirrors.copy, ["push", remote("closed"), "main:mine"]);
    expect(pushed.exitCode).not.to.equal(0);
    expect(pushed.stderr).to.contain("the project is a mirror of another repository");
    expect(await refsAt(remote("closed"))).to.equal(before);

    const removed = await app.delete(`${at("closed")}/mirror`, as(mirrors.anna));
    expect(removed.body).to.include({ mirror: false, mirrorType: null, mirrorUrl: null });
    const again = await tryGit(mirrors.copy, ["push", remote("closed"), "main:mine"]);
    expect(again.exitCode, again.stderr).to.equal(0);
  });

  it("does not replace what a project holds without `overwrite`", async () => {
    await given("full");
    await git(mirrors.copy, "push", "--quiet", remote("full"), "main:own");
    const body = { url: other.url("full"), type: "PULL" };
    const refused = await app.post(`${at("full")}/mirror`, as(mirrors.anna, body));
    expect([refused.status, refused.body["code"]]).to.deep.equal([422, "mirror.not_empty"]);
    await mirror("full", { type: "PULL", overwrite: true });
    await mirrored("full", "full");
  });
});

describe("a PUSH mirror", () => {
  it("does not empty the other repository when the project is empty", async () => {
    await given("empty");
    await mirror("empty", { type: "PUSH" });
    expect(await failure("empty")).to.equal("mirror.empty");
    expect(await refsAt(other.url("empty"))).to.contain("refs/heads/main");
  });
});

describe("the credentials of a mirror", () => {
  it("open the other server, and are in no event and no answer", async () => {
    const id = await given("secret");
    other.require("carl", token);
    const shown = await mirror("secret", { type: "PULL", username: "carl", token });
    await eventually(async () => (await state("secret"))["status"] === "SUCCESS", 60_000);
    const outputs: string[] = [JSON.stringify(shown), JSON.stringify(await state("secret"))];
    for await (const event of app.platform.store.readStream(mirrorStream(id))) {
      outputs.push(JSON.stringify(event.data));
    }
    const encoded = Buffer.from(`carl:${token}`).toString("base64");
    for (const secret of [token, encoded, "carl"]) expect(outputs.join()).not.to.contain(secret);
  });
});

describe("a mirror that is ended", () => {
  it("is not there any more, and what was under way changes nothing", async () => {
    const id = await given("ended");
    // The other server answers so slowly that the mirror is gone before it is done.
    let waiting = 0;
    other.first(() => {
      waiting += 1;
      return true;
    });
    await mirror("ended", { type: "PULL" });
    await eventually(() => waiting > 0);
    expect((await app.delete(`${at("ended")}/mirror`, as(mirrors.anna))).status).to.equal(200);
    await eventually(async () => {
      const rows = await app.platform.db("mirror_sync").where({ project_id: id });
      return rows.length === 0;
    });
    expect(await recordedTypes(repositoryStream(id))).to.deep.equal([]);
    expect(await mirrorEvents(id)).to.deep.equal(["MirrorConfigured", "MirrorRemoved"]);
    for (const [method, path] of [
      ["DELETE", "mirror"],
      ["POST", "mirror/sync"],
      ["GET", "mirror"],
    ]) {
      const answer = await app.send(String(method), `${at("ended")}/${path}`, as(mirrors.anna));
      expect([answer.status, answer.body["code"]]).to.deep.equal([404, "mirror.not_found"]);
    }
  });
});
