import { once } from "node:events";
import { symlink } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { Parser } from "tar";

import { startTestApp } from "../support/app/app.ts";
import { commit, git } from "../support/git/git.ts";
import { givenPeople, type People, type RefWorld, refWorlds } from "../support/git/ref-world.ts";

/** Path traversal and committed links: what CVE-2024-55947, CVE-2025-8110 and CVE-2026-52811 were. */
const app = await startTestApp();
const newWorld = await refWorlds(app);
let people: People;
let world: RefWorld;
let head: string;

before(async () => {
  people = await givenPeople(app);
  world = await newWorld(people);
  const links = { absolute: "/etc", outside: "../../../../../../etc", inside: "dir", self: "." };
  await commit(world.copy, "Directory", { "dir/x": "x\n" });
  for (const [name, target] of Object.entries(links)) {
    await symlink(target, path.join(world.copy, `to-${name}`));
  }
  head = await commit(world.copy, "Links");
  await git(world.copy, "push", "--quiet", "origin", "main");
});

const links = ["to-absolute", "to-outside", "to-inside", "to-self"];
const below = links.flatMap((link) => [`${link}/x`, `${link}/passwd`, `${link}/dir/x`]);
const traversals = [
  ...["../x", "a/../../x", "..", "a/..", "./x", "a/./x", "/etc/passwd", "//x", "a//x", "x/", "/"],
  ...[
    "a\u0000b",
    ".git",
    ".git/config",
    "a/.git/hooks/post-receive",
    ".GIT/config",
    ".Git",
    "x/.gIt",
  ],
  ...["git~1", "GIT~1/config", "git~2", ".git.", ".git ", ".git...", ".git::$INDEX_ALLOCATION"],
  ...[
    ".git:x",
    ".g\u200cit/config",
    "\u206a.git",
    ".gi\ufefft",
    "a\\..\\x",
    "..\\x",
    ".git\\config",
  ],
  ...["a\\.git\\x", "a\\git~1"],
];

const read = (endpoint: string, key: string, value: string) => {
  const query = new URLSearchParams({ commitHash: head, [key]: value });
  return app.get(world.at(`/${endpoint}?${query.toString()}`), { token: people.bob.token });
};
const write = (...actions: readonly object[]) =>
  world.post(people.bob, "/commit", { branch: "main", message: "x", actions });

describe("reading files", () => {
  for (const at of [...traversals, ...below]) {
    it(`finds nothing at ${JSON.stringify(at)}`, async () => {
      for (const endpoint of ["blob", "blob/download"]) {
        const { status, text } = await read(endpoint, "file", at);
        expect([400, 404, 422], text).to.include(status);
        expect(text).not.to.contain("root:");
      }
      const { status, body } = await read("blob/recursive", "directory", at);
      // A slash alone is the root.
      if (/^\/*$/.test(at)) return;
      expect([404, 422], JSON.stringify(body)).to.include(status);
    });
  }

  it("shows a link as the text it holds", async () => {
    expect((await read("blob", "file", "to-absolute")).text).to.equal("/etc");
  });
});

describe("writing files", () => {
  for (const at of traversals) {
    it(`is refused at ${JSON.stringify(at)}, and from there`, async () => {
      const before = await app.head();
      const content = "x";
      for (const actions of [
        [{ action: "CREATE", path: at, content }],
        [{ action: "UPDATE", path: at, content }],
        [{ action: "DELETE", path: at }],
        [{ action: "MOVE", path: at, previousPath: "a.txt" }],
        [{ action: "MOVE", path: "b.txt", previousPath: at }],
      ]) {
        const { status, text } = await write(...actions);
        expect(status, text).to.equal(422);
      }
      expect(await app.head()).to.equal(before);
    });
  }

  it("never goes through a link, whatever it points to", async () => {
    for (const at of below) {
      for (const action of ["CREATE", "UPDATE"]) {
        const { status, text } = await write({ action, path: at, content: "x" });
        expect(status, `${action} ${at}: ${text}`).to.equal(422);
      }
      expect((await write({ action: "DELETE", path: at })).status).to.equal(422);
      expect((await write({ action: "MOVE", path: at, previousPath: "a.txt" })).status).to.equal(
        422,
      );
    }
    for (const at of links) {
      const { status } = await write({ action: "UPDATE", path: at, content: "/root" });
      expect(status).to.equal(422);
    }
  });

  it("does not go through a link that the same commit moves there", async () => {
    const { status } = await write(
      { action: "MOVE", path: "moved", previousPath: "to-absolute" },
      { action: "CREATE", path: "moved/cron.d/x", content: "x" },
    );
    expect(status).to.equal(422);
  });
});

describe("an archive", () => {
  it("holds links as links and nothing outside its directory", async () => {
    const answer = await fetch(app.url + world.at(`/archive/${head}.tar.gz`), {
      headers: { authorization: `token ${people.bob.token}` },
    });
    const names: string[] = [];
    const parser = new Parser({ onReadEntry: (entry) => void names.push(entry.path) });
    parser.on("entry", (entry) => entry.resume());
    const parsed = once(parser, "end");
    parser.end(Buffer.from(await answer.arrayBuffer()));
    await parsed;
    const root = `${world.project.alias}-${head}/`;
    expect(names.filter((name) => !name.startsWith(root))).to.deep.equal([]);
    expect(names).to.include(`${root}to-absolute`);
    expect(names.filter((name) => name.includes("passwd"))).to.deep.equal([]);
  });
});
