import { expect } from "chai";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { withNewestSource } from "../../../src/services/merge-request/source.ts";
import { git } from "../../support/git/git.ts";
import type { Json, MergeWorld } from "../../support/git/merge-world.ts";
import { givenSources } from "../../support/merge-request/sources.ts";

const { app, people, newWorld } = await givenSources();

const { anna, carl } = people;

describe("a merge request from a private project into a fork", () => {
  let world: MergeWorld;

  let forkId: string;

  let into: (rest: string) => string;

  let before: unknown;

  /** Carl follows the project in his fork, where anybody whom he lets in reads what comes. */
  beforeEach(async () => {
    world = await newWorld();
    await setRole("DEVELOPER");
    const alias = `fork-${world.project.alias}`;
    const fork = await world.post(carl, "/fork", { ownerAlias: "carl", alias });
    forkId = String(fork.body["id"]);
    into = (rest) => `/project/carl/${alias}${rest}`;
    const url = new URL(into(".git"), app.url);
    Object.assign(url, { username: "carl", password: carl.token });
    await git(world.copy, "push", "--quiet", url.href, "main:old");
    const opened = await app.post(into("/merge-request"), {
      token: carl.token,
      body: {
        title: "Follow",
        sourceBranch: { id: "feature" },
        targetBranch: { id: "old" },
        sourceProject: { id: world.project.id },
      },
    });
    expect(opened.status, opened.text).to.equal(200);
    before = headIn(opened);
  });

  const headIn = ({ body }: Readonly<{ body: Json }>): unknown =>
    (body["sourceBranch"] as Json)["hash"];

  const seen = async () => headIn(await app.get(into("/merge-request/1"), { token: carl.token }));

  const act = (verb: string) =>
    app.post(into(`/merge-request/1/${verb}`), { token: carl.token, body: {} });

  /** What the worker does after a push. */
  async function follow(): Promise<unknown> {
    const row = (await findMergeRequest(app.deps.db, forkId, 1))!;
    return (await withNewestSource(app.deps, row)).source_commit;
  }

  async function setRole(role: string): Promise<void> {
    const body = { userAlias: "carl", role };
    const { status } = await app.put(world.at("/member/role"), { token: anna.token, body });
    expect(status).to.equal(200);
  }

  async function publish(): Promise<void> {
    const { status } = await world.put(anna, "/setting/visibility", { isPrivate: false });
    expect(status).to.equal(200);
  }

  it("brings no commits once its author was removed, and can be merged as it is", async () => {
    await world.delete(anna, "/member/carl");
    const secret = await world.push("feature", { "secret.txt": "new\n" });
    expect(await follow()).to.equal(before);
    expect(await seen()).to.equal(before);
    await act("close");
    expect(headIn(await act("reopen"))).to.equal(before);
    const merged = await act("merge");
    expect(merged.status, merged.text).to.equal(200);
    const fork = await app.deps.git.find(forkId);
    expect(await fork?.objects.info(secret)).to.equal(undefined);
  });

  it("brings them again with the role that opening needs, or when the project is public", async () => {
    await setRole("GUEST");
    const next = await world.push("feature", { "next.txt": "n\n" });
    expect(await seen()).to.equal(before);
    await setRole("DEVELOPER");
    expect(await seen()).to.equal(next);
    await world.delete(anna, "/member/carl");
    const shown = await world.push("feature", { "shown.txt": "s\n" });
    expect(await seen()).to.equal(next);
    await publish();
    expect(await seen()).to.equal(shown);
  });

  it("brings none while its author is banned, even from a public project", async () => {
    await publish();
    const root = await app.givenUser("root", { admin: true });
    const account = (verb: string) =>
      app.post(`/admin/user/${carl.id}/account/${verb}`, { token: root.token });
    expect((await account("ban")).status).to.equal(200);
    const head = await world.push("feature", { "next.txt": "n\n" });
    expect(await follow()).to.equal(before);
    expect((await account("unban")).status).to.equal(200);
    expect(await follow()).to.equal(head);
  });
});
