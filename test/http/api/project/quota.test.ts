import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import { bytesText } from "../../../../src/platform/bytes-text.ts";
import { type Send, startTestApp, type TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { type RepositoryView, repositoriesAt } from "../../../support/client/registry.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";

const app = await startTestApp({ workers: true, config: { projectBytesMax: 1_000_000 } });
const parent = await temporaryDirectory();
const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let root: TestUser;
let copy: string;

const at = "/project/anna/search";
const remote = () => {
  const url = new URL(`${at}.git`, app.url);
  return Object.assign(url, { username: "anna", password: anna.token }).href;
};
const project = async () => (await app.get(at, as(anna))).body;
const quota = async (allowedBytes: unknown) => {
  const { id } = await project();
  return app.put(`/admin/project/${id}/quota`, as(root, { allowedBytes }));
};

before(async () => {
  anna = await app.givenUser("anna");
  root = await app.givenUser("root", { admin: true });
  await app.givenProject(anna, "search");
  copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.bin": randomBytes(100_000) });
  await git(copy, "push", "--quiet", remote(), "main", "main:old");
});

describe("how large a project may be", () => {
  it("holds for commits over REST as well", async () => {
    await eventually(async () => Number((await project())["usedBytes"]) > 100_000);
    await quota(200_000);
    const content = randomBytes(150_000).toString("base64");
    const action = { action: "CREATE", path: "b.bin", content, encoding: "base64" };
    const body = { branch: "main", message: "Too much", actions: [action] };
    const refused = await app.post(`${at}/commit`, as(anna, body));
    expect(refused.body).to.include({ status: 422, code: "project.full" });
    const little = { ...body, actions: [{ ...action, content: "eA==" }] };
    expect(
      (await app.post(`${at}/commit`, as(anna, { ...little, branch: "old" }))).status,
    ).to.equal(200);
    await quota(null);
  });

  it("is shown beside how large it is, measured after a push", async () => {
    await eventually(async () => Number((await project())["usedBytes"]) > 100_000);
    expect(await project()).to.include({ allowedBytes: 1_000_000, allowedMemory: "976.5 KiB" });
  });

  it("is the instance's, until an administrator says otherwise, who sees nothing else", async () => {
    const { status, body } = await quota(200_000);
    expect(status).to.equal(200);
    expect(Object.keys(body).sort()).to.deep.equal([
      ...["allowedBytes", "ownBytes", "projectId", "usedBytes"],
    ]);
    expect(body).to.include({ allowedBytes: 200_000, ownBytes: 200_000 });
    expect(await project()).to.include({ allowedBytes: 200_000, allowedMemory: "195.3 KiB" });
    expect((await quota(null)).body).to.include({ allowedBytes: 1_000_000, ownBytes: null });
    for (const bad of [-1, 1.5, "much", [], {}]) expect((await quota(bad)).status).to.equal(422);
    const missing = await app.put(`/admin/project/${anna.id}/quota`, as(root, { allowedBytes: 1 }));
    expect(missing.status).to.equal(404);
  });

  it("is a limit for what one push brings", async () => {
    await quota(200_000);
    await commit(copy, "Two", { "b.bin": randomBytes(300_000) });
    const pushed = await tryGit(copy, ["push", remote(), "main"]);
    expect(pushed.exitCode).not.to.equal(0);
    expect(pushed.stderr).to.contain("pack exceeds maximum allowed size");
    await quota(null);
    const allowed = await tryGit(copy, ["push", remote(), "main"]);
    expect(allowed.exitCode, allowed.stderr).to.equal(0);
  });

  it("that is reached refuses all pushes but deletions, and says why", async () => {
    await quota(1);
    await commit(copy, "Three", { "c.txt": "c\n" });
    const pushed = await tryGit(copy, ["push", remote(), "main", ":old"]);
    expect(pushed.stderr).to.contain("the project has reached its size limit");
    const left = await git(copy, "ls-remote", "--heads", remote());
    expect(left).to.contain("refs/heads/main").and.not.contain("refs/heads/old");
    expect(left).not.to.contain(await git(copy, "rev-parse", "HEAD"));
  });
});

describe("LFS objects", () => {
  const art = "/project/anna/art";
  const bring = (bytes: Buffer) => {
    const oid = createHash("sha256").update(bytes).digest("hex");
    const authorization = basicAuth("anna", anna.token);
    const at = `${art}.git/info/lfs/objects/${oid}/${bytes.length}`;
    return app.send("PUT", at, { headers: { authorization }, body: bytes });
  };
  let id: string;
  let to: string;
  before(async () => {
    ({ id } = await app.givenProject(anna, "art"));
    to = remote().replace("search.git", "art.git");
    await commit(copy, "Art", { "art.txt": "art\n" });
    await git(copy, "push", "--quiet", to, "HEAD~1:refs/heads/main");
  });

  it("count in what a project takes, as soon as they are here", async () => {
    expect((await bring(randomBytes(200_000))).status).to.equal(200);
    await eventually(
      async () => Number((await app.get(art, as(anna))).body["usedBytes"]) > 200_000,
    );
  });

  it("leave so much less room for pushes, and for each other", async () => {
    await app.put(`/admin/project/${id}/quota`, as(root, { allowedBytes: 900_000 }));
    expect((await bring(randomBytes(250_000))).status).to.equal(200);
    expect((await bring(randomBytes(400_000))).body).to.include({ code: "project.full" });
    await app.put(`/admin/project/${id}/quota`, as(root, { allowedBytes: 450_000 }));
    const refused = await tryGit(copy, ["push", to, "HEAD:main"]);
    expect(refused.stderr).to.contain("the project has reached its size limit");
    const action = { action: "CREATE", path: "x.txt", content: "x" };
    const body = { branch: "main", message: "x", actions: [action] };
    const byRest = await app.post(`${art}/commit`, as(anna, body));
    expect(byRest.body).to.include({ status: 422, code: "project.full" });
    await app.put(`/admin/project/${id}/quota`, as(root, { allowedBytes: 900_000 }));
    expect((await tryGit(copy, ["push", to, "HEAD:main"])).exitCode).to.equal(0);
  });
});

describe("files that come by other ways than git", () => {
  const shelf = "/project/anna/shelf";
  const at = () => repositoriesAt(app, `${shelf}/repositories`, anna.token);
  let id: string;
  let goods: RepositoryView;
  let release: string;
  before(async () => {
    ({ id } = await app.givenProject(anna, "shelf"));
    goods = await at().local("goods", "generic");
    const little = await workingCopy(parent, "little");
    await commit(little, "Little", { "a.txt": "a\n" });
    await git(little, "push", "--quiet", remote().replace("search.git", "shelf.git"), "main");
    const made = await app.post(`${shelf}/release`, as(anna, { title: "One", tagName: "v1" }));
    release = `${shelf}/release/${made.body["id"]}/file`;
  });
  const allow = (bytes: number | null) =>
    app.put(`/admin/project/${id}/quota`, as(root, { allowedBytes: bytes }));
  const used = async () => Number((await app.get(shelf, as(anna))).body["usedBytes"]);
  const attached = async (to: string, key: string, ...sizes: readonly number[]) => {
    const body = new FormData();
    for (const [index, size] of sizes.entries()) {
      body.append(key, new Blob([Buffer.alloc(size, "a")]), `${size}-${index}.bin`);
    }
    const headers = { authorization: `token ${anna.token}` };
    return (await fetch(app.url + to, { method: "POST", headers, body })).status;
  };
  const holds = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);
  const packaged = async (size: number) => {
    const to = "/registry/project/anna/shelf/repository/goods/tool/1.0/tool.bin";
    const headers = { authorization: `Bearer ${anna.token}` };
    return (await app.send("PUT", to, { headers, body: Buffer.alloc(size, "p") })).status;
  };

  it("count in what a project takes: attachments, files of releases, packages", async () => {
    await allow(null);
    const measured = async (least: number) => {
      await eventually(async () => (await used()) >= least);
      return used();
    };
    expect(await attached(`${shelf}/file`, "file", 100_000)).to.equal(200);
    const first = await measured(100_000);
    expect(await attached(release, "files", 50_000, 60_000)).to.equal(200);
    const second = await measured(first + 110_000);
    expect(await packaged(70_000)).to.equal(201);
    await measured(second + 70_000);
  });

  it("are refused when they would make it larger than it may be, and nothing of them is held", async () => {
    await eventually(async () => (await used()) >= 280_000);
    const before = await used();
    const held = await holds();
    await allow(before + 100_000);
    expect(await attached(`${shelf}/file`, "file", 200_000)).to.equal(413);
    expect(await packaged(200_000)).to.equal(413);
    // Each of the two has room, both have not.
    expect(await attached(release, "files", 90_000, 90_000)).to.equal(413);
    expect(await attached(release, "files", 90_000)).to.equal(200);
    await allow(1);
    expect(await attached(`${shelf}/file`, "file", 1)).to.equal(413);
    expect(await attached(release, "files", 1)).to.equal(413);
    await allow(null);
    expect(await holds()).to.equal(held);
  });

  it("count no more once their repository of packages is deleted", async () => {
    await eventually(async () => (await used()) >= 370_000);
    const before = await used();
    expect((await at().remove(goods.repositoryUuid)).status).to.equal(204);
    await eventually(async () => (await used()) <= before - 70_000);
  });
});

describe("a size for people", () => {
  for (const [bytes, text] of [
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1.99 * 1024 ** 2, "1.9 MiB"],
    [5 * 1024 ** 3, "5 GiB"],
  ] as const) {
    it(`of ${bytes} bytes is ${text}`, () => {
      expect(bytesText(bytes)).to.equal(text);
    });
  }
});
