import { execFileSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { extract } from "tar";
import { fromBufferPromise } from "yauzl";

import { startTestApp } from "../../../support/app/app.ts";
import { commit, git, temporaryDirectory } from "../../../support/git/git.ts";
import {
  givenPeople,
  type People,
  type RefWorld,
  refWorlds,
} from "../../../support/git/ref-world.ts";

const app = await startTestApp();
const newWorld = await refWorlds(app);
const parent = await temporaryDirectory();
let people: People;
let world: RefWorld;
let head: string;

before(async () => {
  people = await givenPeople(app);
  world = await newWorld(people);
  const at = (name: string) => path.join(world.copy, name);
  await commit(world.copy, "Files", {
    'dir/ü "x".txt': "x\n",
    "run.sh": "#!/bin/sh\n",
    "secret.txt": "not for archives\n",
    ".gitattributes": "secret.txt export-ignore\n",
  });
  await chmod(at("run.sh"), 0o755);
  await symlink("/etc/passwd", at("link"));
  head = await commit(world.copy, "Odd ones");
  await git(world.copy, "tag", "v1.0", world.head);
  await git(world.copy, "tag", "-a", "both", "-m", "A tag", world.head);
  await git(world.copy, "branch", "both");
  await git(world.copy, "branch", "feature/ünï.x");
  await git(world.copy, "push", "--quiet", "origin", "--all");
  await git(world.copy, "push", "--quiet", "origin", "--tags");
});

const send = (
  ref: string,
  ending = "zip",
  headers: Record<string, string> = {},
  user = people.carl,
) =>
  fetch(app.url + world.at(`/archive/${encodeURIComponent(ref)}.${ending}`), {
    headers: { authorization: `token ${user.token}`, ...headers },
  });
let count = 0;
/** Unpacks a tar.gz; answers the directory. */
async function unpacked(answer: Response): Promise<string> {
  expect(answer.status).to.equal(200);
  count += 1;
  const into = path.join(parent, String(count));
  await mkdir(into);
  const file = path.join(parent, `${count}.tar.gz`);
  await writeFile(file, Buffer.from(await answer.arrayBuffer()));
  await extract({ file, cwd: into, preservePaths: true });
  return into;
}
/** Files and directories in a zip. */
async function namesInZip(answer: Response): Promise<readonly string[]> {
  expect(answer.status).to.equal(200);
  const zip = await fromBufferPromise(Buffer.from(await answer.arrayBuffer()));
  const names: string[] = [];
  for await (const { fileName } of zip.eachEntry()) names.push(fileName);
  return names.sort();
}
const namesIn = (directory: string) =>
  (readdirSync(directory, { recursive: true }) as string[]).sort();

describe("GET …/archive/{ref}", () => {
  it("packs a branch as tar.gz in one directory, modes and links kept, ignored files left out", async () => {
    const answer = await send("feature/ünï.x", "tar.gz");
    expect(answer.headers.get("content-type")).to.equal("application/gzip");
    expect(answer.headers.get("content-disposition")).to.contain(
      `filename*=UTF-8''project-1-feature-${encodeURIComponent("ünï")}.x.tar.gz`,
    );
    const into = await unpacked(answer);
    const root = "project-1-feature-ünï.x";
    expect(namesIn(into)).to.deep.equal(
      [
        root,
        ...[".gitattributes", "a.txt", "dir", 'dir/ü "x".txt', "link", "run.sh"].map(
          (name) => `${root}/${name}`,
        ),
      ].sort(),
    );
    expect(readlinkSync(path.join(into, root, "link"))).to.equal("/etc/passwd");
    expect(await readFile(path.join(into, root, 'dir/ü "x".txt'), "utf8")).to.equal("x\n");
    expect(execFileSync(path.join(into, root, "run.sh")).toString()).to.equal("");
  });

  it("packs a tag and a commit as zip", async () => {
    for (const ref of ["v1.0", world.head]) {
      const answer = await send(ref);
      expect(answer.headers.get("content-type")).to.equal("application/zip");
      const names = [`project-1-${ref}/`, `project-1-${ref}/a.txt`];
      expect(await namesInZip(answer)).to.deep.equal(names);
    }
  });

  it("takes a hash in either case", async () => {
    const answer = await send(world.head.toUpperCase());
    expect(answer.status).to.equal(200);
    expect(answer.headers.get("etag")).to.contain(world.head);
    expect(answer.headers.get("cache-control")).to.contain("immutable");
    await answer.arrayBuffer();
  });

  it("takes the branch where a tag has the same name, unless the full ref is given", async () => {
    const etags = await Promise.all(
      ["both", "refs/heads/both", "refs/tags/both"].map(async (ref) => {
        const answer = await send(ref);
        await answer.arrayBuffer();
        return answer.headers.get("etag")?.slice(1, 41);
      }),
    );
    expect(etags).to.deep.equal([head, head, world.head]);
  });

  it("has a strong tag by the commit, for as long as the ref stands there", async () => {
    const first = await send("main");
    await first.arrayBuffer();
    const etag = first.headers.get("etag") ?? "";
    expect(etag)
      .to.match(/^"[0-9a-f]{40}-[\w-]+"$/)
      .and.to.contain(head);
    expect(first.headers.get("cache-control")).to.equal("private, no-cache");
    const again = await send("main", "zip", { "if-none-match": etag });
    expect([again.status, await again.text()]).to.deep.equal([304, ""]);
    expect(again.headers.get("etag")).to.equal(etag);
    expect((await send("main", "tar.gz", { "if-none-match": etag })).status).to.equal(200);
  });

  it("answers 404 for what is no branch, tag or commit", async () => {
    const tree = await git(world.copy, "rev-parse", "HEAD^{tree}");
    const wrong = ["none", "-x", "--output=x", "--remote=x", "main~1", "main:dir", "main^{tree}"];
    for (const ref of [
      ...wrong,
      tree,
      "0".repeat(40),
      "refs/heads/v1.0",
      "..",
      "@{-1}",
      "main\0",
    ]) {
      expect((await send(ref)).status, ref).to.equal(404);
    }
    expect((await send("main", "exe")).status).to.equal(404);
  });

  it("is for who may read the project, and only while downloads are on", async () => {
    const stranger = await app.givenUser("stranger");
    expect((await send("main", "zip", {}, stranger)).status).to.equal(403);
    const root = await app.givenUser("root", { admin: true });
    const turn = (fileDownloadIsEnabled: boolean) =>
      app.post("/admin/settings/files", { token: root.token, body: { fileDownloadIsEnabled } });
    expect((await turn(false)).status).to.equal(200);
    try {
      const answer = await send("main");
      expect([answer.status, ((await answer.json()) as { code: string }).code]).to.deep.equal([
        403,
        "download.disabled",
      ]);
    } finally {
      await turn(true);
    }
  });

  it("names the commit when a branch is called by a commit's hash", async () => {
    // A push cannot make it; it may be there from before.
    const args = [`--git-dir=${world.gitDir}`, "update-ref", `refs/heads/${world.head}`, head];
    execFileSync("git", args);
    const answer = await send(world.head);
    await answer.arrayBuffer();
    expect(answer.headers.get("etag")).to.contain(`"${world.head}`);
  });
});
