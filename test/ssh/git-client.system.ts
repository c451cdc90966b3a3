import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { whileSuspended } from "../support/app/suspended.ts";
import {
  gitWithKey,
  newKey,
  registerKey,
  ssh,
  sshOptions,
  sshRemote,
} from "../support/client/ssh.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("ssh", "ssh-keygen");
const begunAt = Date.now();
const app = await startTestApp({ ssh: {} });
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const annasKey = await newKey(parent, "anna");
const bobsKey = await newKey(parent, "bob");
const annasKeyId = await registerKey(app, anna, annasKey);
await registerKey(app, bob, bobsKey);
const hidden = await app.givenProject(anna, "hidden");
await app.givenProject(anna, "open", { private: false });
const asAnna = gitWithKey(annasKey, app.sshPort);
const asBob = gitWithKey(bobsKey, app.sshPort);

const copy = await workingCopy(parent, "copy");
let head = "";
before(async () => {
  await commit(copy, "One", { "a.txt": "a\n" });
  head = await commit(copy, "Two", { "b.txt": "b\n" });
});

const must = async (cwd: string, env: Record<string, string>, ...args: string[]) => {
  const ran = await tryGit(cwd, args, env);
  expect(ran.exitCode, ran.stderr).to.equal(0);
  return ran;
};

const auditOf = async (streamOf: string) => {
  const events = [];
  for await (const event of app.platform.store.readStream(streamOf)) events.push(event);
  return events;
};

describe("git over SSH", () => {
  it("pushes, records who did it by which way, and shows it at once", async () => {
    await must(copy, asAnna, "push", sshRemote("anna", "hidden"), "main");
    const at = "/project/anna/hidden/branch?branchName=main";
    const { body } = await app.get(at, { token: anna.token });
    expect(JSON.stringify(body)).to.contain(head);
    const [created] = await auditOf(`repository-${hidden.id}`);
    expect(created?.metadata.actor).to.deep.equal({
      userId: anna.id,
      alias: "anna",
      via: "ssh",
      tokenId: null,
    });
    expect(await app.platform.vault.open(created!.metadata.ip!)).to.equal("127.0.0.1");
  });

  it("refuses refs that are no branches, tags or notes by themselves", async () => {
    await app.givenProject(anna, "mirrored");
    const refspecs = ["main", "main:refs/pull/1/head", "main:refs/notes/x"];
    const ran = await tryGit(copy, ["push", sshRemote("anna", "mirrored"), ...refspecs], asAnna);
    expect(ran.exitCode).to.equal(1);
    expect(ran.stderr)
      .to.contain("refs/pull/1/head (only branches, tags and notes can be pushed)")
      .and.to.contain("main -> main")
      .and.to.contain("main -> refs/notes/x");
  });

  it("refuses a command that has stopped the service twice, to its user alone", async () => {
    const list = (by: typeof asAnna) => tryGit(copy, ["ls-remote", sshRemote("anna", "open")], by);
    const running = { name: "ssh-upload-pack", caller: anna.id };
    await whileSuspended([running], async () => {
      const refused = await list(asAnna);
      expect(refused.exitCode).to.equal(128);
      expect(refused.stderr).to.contain("is suspended for you");
      expect((await list(asBob)).exitCode).to.equal(0);
    });
    const connections = { name: "ssh-connection", caller: "127.0.0.1" };
    const closed = await whileSuspended([connections], () => list(asBob));
    expect(closed.exitCode).to.equal(128);
    expect((await list(asAnna)).exitCode).to.equal(0);
  });

  for (const version of ["1", "2"]) {
    it(`clones and fetches by protocol version ${version}`, async () => {
      const into = path.join(parent, `clone-${version}`);
      const protocol = ["-c", `protocol.version=${version}`];
      const env = { ...asAnna, GIT_TRACE_PACKET: path.join(parent, `trace-${version}`) };
      await must(parent, env, ...protocol, "clone", "-q", sshRemote("anna", "hidden"), into);
      expect(await git(into, "rev-parse", "HEAD")).to.equal(head);
      const trace = await readFile(env.GIT_TRACE_PACKET, "utf8");
      expect(trace.includes("clone< version 2")).to.equal(version === "2");
      await git(into, "fsck", "--full", "--strict");
      await must(into, asAnna, ...protocol, "fetch", "--prune");
    });
  }

  it("takes the other forms of the address", async () => {
    const port = String(app.sshPort);
    for (const remote of [
      `ssh://git@127.0.0.1:${port}/anna/hidden.git`,
      `ssh://git@127.0.0.1:${port}/anna/hidden`,
      "git@127.0.0.1:/anna/hidden.git",
    ]) {
      const { stdout } = await must(parent, asAnna, "ls-remote", remote, "main");
      expect(stdout, remote).to.contain(head);
    }
  });

  it("forces, deletes and tags, each recorded", async () => {
    const remote = sshRemote("anna", "hidden");
    await must(copy, asAnna, "push", remote, "HEAD:refs/heads/side", "HEAD:refs/tags/v1");
    await must(copy, asAnna, "push", "--force", remote, "HEAD~1:refs/heads/side");
    await must(copy, asAnna, "push", remote, ":refs/heads/side", ":refs/tags/v1");
    const types = (await auditOf(`repository-${hidden.id}`)).map(({ type }) => type);
    for (const type of ["BranchDeleted", "TagDeleted"]) expect(types).to.include(type);
    expect((await tryGit(copy, ["push", remote, "main"], asAnna)).stderr).to.match(/up-to-date/);
  });

  it("is shallow and partial on request", async () => {
    const into = path.join(parent, "shallow");
    const options = ["--depth=1", "--filter=blob:none"];
    await must(parent, asAnna, "clone", "-q", ...options, sshRemote("anna", "hidden"), into);
    expect(await git(into, "rev-list", "--count", "HEAD")).to.equal("1");
    await must(into, asAnna, "fetch", "-q", "--unshallow");
    expect(await git(into, "rev-list", "--count", "HEAD")).to.equal("2");
  });

  it("archives, unless downloads are switched off", async () => {
    const remote = sshRemote("anna", "hidden");
    const archive = ["archive", `--remote=${remote}`, "--format=tar", "main"];
    expect((await must(parent, asAnna, ...archive)).stdout).to.contain("a.txt");
    const root = await app.givenUser("root", { admin: true });
    const set = (fileDownloadIsEnabled: boolean) =>
      app.post("/admin/settings/files", { token: root.token, body: { fileDownloadIsEnabled } });
    expect((await set(false)).status).to.equal(200);
    const refused = await tryGit(parent, archive, asAnna);
    await set(true);
    expect(refused.exitCode).not.to.equal(0);
    expect(refused.stderr).to.contain("switched off");
  });

  it("holds pushes against the rules of the project, ref by ref", async () => {
    const rule = {
      branchTemplate: "kept-*",
      allowedToPush: "NO_ONE",
      allowedToMerge: "ADMINS",
      allowForcePush: false,
    };
    const added = await app.post("/project/anna/hidden/branch-protection/create", {
      token: anna.token,
      body: rule,
    });
    expect(added.status, added.text).to.be.oneOf([200, 201]);
    const refs = ["HEAD:refs/heads/kept-1", "HEAD:refs/heads/free"];
    const { exitCode, stderr } = await tryGit(
      copy,
      ["push", sshRemote("anna", "hidden"), ...refs],
      asAnna,
    );
    expect(exitCode).not.to.equal(0);
    expect(stderr).to.match(/\[remote rejected\] HEAD -> kept-1 \(protected branch\)/);
    expect(stderr).to.match(/\[new branch\] +HEAD -> free/);
    const none = await tryGit(copy, ["push", sshRemote("anna", "hidden"), refs[0]!], asAnna);
    expect(none.stderr).to.match(/protected branch/);
  });

  it("lets nobody in who has no right, and says why", async () => {
    const read = await tryGit(parent, ["ls-remote", sshRemote("anna", "hidden")], asBob);
    expect(read.exitCode).not.to.equal(0);
    expect(read.stderr).to.contain("role GUEST");
    await must(parent, asBob, "ls-remote", sshRemote("anna", "open"));
    const write = await tryGit(copy, ["push", sshRemote("anna", "open"), "main"], asBob);
    expect(write.stderr).to.contain("role DEVELOPER");
    const none = await tryGit(parent, ["ls-remote", sshRemote("anna", "nowhere")], asBob);
    expect(none.stderr).to.contain("Project not found");
    expect(read.stderr + write.stderr).not.to.contain(app.dataDir);
  });

  it("notes when a key was used", async () => {
    const { body } = await app.get("/user/settings/ssh-key", { token: anna.token });
    const { userPublicSshKeyModelList: keys } = body["_embedded"] as {
      userPublicSshKeyModelList: { uuid: string; lastUsedAt: string | null }[];
    };
    const used = keys.find(({ uuid }) => uuid === annasKeyId)?.lastUsedAt;
    expect(Date.parse(used ?? "")).to.be.within(begunAt, Date.now());
  });

  it("greets a client that requests a shell, and gives none", async () => {
    const options = sshOptions(annasKey, app.sshPort);
    const { exitCode, stderr } = await ssh([...options, "-T", "git@127.0.0.1"]);
    expect(exitCode).to.equal(1);
    expect(stderr).to.contain("Hello anna");
  });

  it("does not show the client what an unexpected failure says", async () => {
    const { db } = app.deps;
    await db.raw("alter table read_model.project rename to project_away");
    try {
      const { exitCode, stderr } = await tryGit(
        parent,
        ["ls-remote", sshRemote("anna", "hidden")],
        asAnna,
      );
      expect(exitCode).not.to.equal(0);
      expect(stderr).to.contain("error: the service has failed; please try again");
      expect(stderr).not.to.contain("relation");
    } finally {
      await db.raw("alter table read_model.project_away rename to project");
    }
  });
});
