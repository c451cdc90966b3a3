import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { git, tryGit } from "../support/git/git.ts";
import { givenPeople, type People, type RefWorld, refWorlds } from "../support/git/ref-world.ts";

/** Writing into the repository itself: CVE-2025-64111, CVE-2024-39931, CVE-2024-56731, CVE-2026-23633. */
const app = await startTestApp();
const newWorld = await refWorlds(app);
let people: People;
let world: RefWorld;

before(async () => {
  people = await givenPeople(app);
  world = await newWorld(people);
});

/** Everything of a repository but its objects and refs, by content. */
async function internals(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const name of (await readdir(world.gitDir, { recursive: true })).sort()) {
    if (/^(?:objects|refs)(?:\/|$)|^packed-refs$/.test(name)) continue;
    const file = path.join(world.gitDir, name);
    const { mode } = await stat(file);
    const content = await readFile(file).catch(() => Buffer.from("directory"));
    found.set(name, `${mode} ${createHash("sha256").update(content).digest("hex")}`);
  }
  return found;
}

const inside = [
  ...["config", "HEAD", "hooks/post-receive", "hooks/update", "info/attributes", "description"],
  ...["objects/info/alternates", "packed-refs", "refs/heads/evil", "worktrees/x/gitdir"],
];

describe("the inside of a repository", () => {
  it("is not what files of the same names in a commit are", async () => {
    const before = await internals();
    const actions = inside.map((name) => ({ action: "CREATE", path: name, content: "[core]\n" }));
    const { status, text } = await world.post(people.bob, "/commit", {
      ...{ branch: "main", message: "Files that are called like it", actions },
    });
    expect(status, text).to.equal(200);
    expect([...(await internals())]).to.deep.equal([...before]);
    expect([...(await world.refs()).keys()]).to.deep.equal(["refs/heads/main"]);
  });

  it("cannot be reached through a path, a previous path, a branch or a tag", async () => {
    const before = await internals();
    for (const name of inside) {
      const up = `../${name}`;
      const body = { branch: "main", message: "x" };
      for (const action of [
        { action: "CREATE", path: up, content: "x" },
        { action: "CREATE", path: `.git/${name}`, content: "x" },
        { action: "MOVE", path: "x", previousPath: up },
      ]) {
        const { status } = await world.post(people.bob, "/commit", { ...body, actions: [action] });
        expect(status).to.equal(422);
      }
      for (const ref of [`../../${name}`, `../${name}`, `/${name}`, `${world.gitDir}/${name}`]) {
        const answers = await Promise.all([
          world.post(people.bob, "/branch", { newBranch: ref, originBranch: "main" }),
          world.post(people.bob, "/tag/create", { tagName: ref }),
          world.post(people.bob, "/tag/create", { tagName: ref, message: "Annotated" }),
          world.post(people.bob, "/commit", {
            ...{ ...body, branch: ref, startBranch: "main" },
            actions: [{ action: "CREATE", path: "x", content: "x" }],
          }),
        ]);
        expect(answers.map(({ status }) => status)).to.deep.equal([422, 422, 422, 422]);
      }
    }
    expect([...(await internals())]).to.deep.equal([...before]);
  });

  it("has no hooks, and runs none that an attacker put there", async () => {
    const hook = path.join(world.gitDir, "hooks");
    expect(await readdir(hook).catch(() => [])).to.deep.equal([]);
  });

  it("is not what a pushed tree can name", async () => {
    for (const name of [".git", ".GIT", "git~1", ".git ", ".g\u200cit"]) {
      await git(world.copy, "checkout", "--quiet", "-B", "evil", world.head);
      const blob = await git(world.copy, "hash-object", "-w", "a.txt");
      const script = `printf '100644 blob ${blob}\\t%s\\n' '${name}' | git mktree`;
      const made = await shell(world.copy, script);
      const evil = await git(world.copy, "commit-tree", "-m", "evil", made.trim());
      const { exitCode, stderr } = await tryGit(world.copy, [
        ...["push", "origin", `${evil}:refs/heads/evil`],
      ]);
      expect(exitCode, `${name}: ${stderr}`).to.equal(1);
    }
    expect([...(await world.refs()).keys()]).to.deep.equal(["refs/heads/main"]);
  });

  it("stays out of what a commit by REST sets for submodules", async () => {
    const modules = [
      '[submodule "x"]\n\tpath = x\n\turl = -u./payload\n',
      '[submodule "../../hooks"]\n\tpath = x\n\turl = https://example.org/x\n',
      '[submodule "x"]\n\tpath = -x\n\turl = https://example.org/x\n',
    ];
    for (const content of modules) {
      const { body, text } = await world.post(people.bob, "/commit", {
        ...{ branch: "main", message: "x" },
        actions: [{ action: "CREATE", path: ".gitmodules", content }],
      });
      expect(body, text).to.include({ status: 422, code: "commit.object_refused" });
    }
  });
});

async function shell(cwd: string, script: string): Promise<string> {
  const { execFileSync } = await import("node:child_process");
  return execFileSync("sh", ["-c", script], { cwd }).toString();
}
