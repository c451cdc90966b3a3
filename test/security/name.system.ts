import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { git, tryGit } from "../support/git/git.ts";
import { givenPeople, type People, type RefWorld, refWorlds } from "../support/git/ref-world.ts";

/** Traversal through names: CVE-2026-52813, CVE-2026-24135, CVE-2022-1993. */
const app = await startTestApp();
const newWorld = await refWorlds(app);
let people: People;
let world: RefWorld;

before(async () => {
  people = await givenPeople(app);
  world = await newWorld(people);
});

const aliases = [
  ...["..", ".", "a/..", "../a", ".git", "a.git", "%2e%2e", "..%2f", "a\\b", "-a", ".a", "_a"],
  ...[
    "a b",
    "a\nb",
    "a\u0000b",
    "\u202ea",
    "\u0430nna",
    "\uff41nna",
    "a\u0301b",
    "",
    "a",
    "x".repeat(65),
  ],
];
/** Words that paths of the interface begin with. */
const reservedProjects = ["my", "shared"];

const refs = [
  ...[
    "..",
    "../x",
    "x/../../y",
    "/x",
    "x/",
    "x//y",
    ".x",
    "x/.y",
    "x.lock",
    "x.lock/y",
    "x.",
    "-x",
  ],
  ...[
    "x y",
    "x\ny",
    "x\u0000y",
    "x\u007f",
    "x~",
    "x^",
    "x:y",
    "x?",
    "x*",
    "x[",
    "x\\y",
    "@{x",
    "x@{0}",
  ],
];

/** Names of everything that lies beside the repositories of projects. */
async function onDisk(): Promise<readonly string[]> {
  const root = path.join(app.dataDir, "repositories");
  const found: string[] = [];
  for (const a of await readdir(root)) {
    if (!/^[0-9a-f]{2}$/.test(a)) {
      found.push(a);
      continue;
    }
    for (const b of await readdir(path.join(root, a))) {
      for (const name of await readdir(path.join(root, a, b))) found.push(name);
    }
  }
  return found;
}

describe("a name that is a path", () => {
  for (const alias of aliases) {
    it(`is no alias: ${JSON.stringify(alias.slice(0, 20))}`, async () => {
      const before = await app.head();
      const { token } = people.anna;
      const made = { title: "T", alias, isPrivate: false };
      const answers = [
        await app.post("/project", { token, body: { ...made, ownerAlias: "anna" } }),
        await app.post("/team", { token, body: made }),
        await app.post("/company", { token, body: made }),
        await app.post(world.at("/fork"), { token, body: { alias } }),
        await app.put(world.at("/setting/alias"), { token, body: { alias } }),
        await app.put("/user/change-username", { token, body: { username: alias } }),
      ];
      for (const { status, text } of answers) expect(status, text).to.equal(422);
      expect(await app.head()).to.equal(before);
    });
  }

  it("is no alias of a project when a path of the interface begins with it", async () => {
    const { token } = people.anna;
    for (const alias of ["user", "project", "team", "company", "admin", ...reservedProjects]) {
      const { status, body } = await app.post("/team", { token, body: { title: "T", alias } });
      // Not every word hides something; none of them may hide a route.
      if (status === 200) continue;
      expect([status, body["code"]]).to.deep.equal([422, "alias.reserved"]);
    }
    expect((await app.get("/project/my", { token })).body).to.have.property("_embedded");
    expect((await app.get("/user/me", { token })).body).to.include({ username: "anna" });
  });

  for (const name of refs) {
    it(`is no branch and no tag: ${JSON.stringify(name)}`, async () => {
      const before = await app.head();
      const action = { action: "CREATE", path: "x", content: "x" };
      const answers = [
        await world.post(people.bob, "/branch", { newBranch: name, originBranch: "main" }),
        await world.post(people.bob, "/tag/create", { tagName: name }),
        await world.post(people.bob, "/tag/create", { tagName: name, message: "x" }),
        await world.post(people.bob, "/commit", {
          ...{ branch: name, startBranch: "main", message: "x", actions: [action] },
        }),
      ];
      for (const { status, text } of answers) expect(status, text).to.equal(422);
      const named = encodeURIComponent(name);
      const nowhere = [
        await world.post(people.bob, "/branch", { newBranch: "new", originBranch: name }),
        await world.post(people.bob, "/tag/create", { tagName: "new", branchName: name }),
        await world.post(people.bob, "/tag/create", { tagName: "new", commitId: name }),
        await world.post(people.bob, `/commit/${world.head}/revert`, { branchName: name }),
        await world.delete(people.bob, `/branch?branchName=${named}`),
        await world.delete(people.bob, `/tag/${named}`),
        await app.get(world.at(`/archive/${named}.zip`), people.bob),
        await app.get(world.at(`/tag/${named}`), people.bob),
        await app.get(world.at(`/commits?branch=${named}`), people.bob),
      ];
      // A client takes `..` out of a path: what is left of it is the project, which may only be read so.
      const statuses = [404, 405, 422, ...(name === ".." ? [200] : [])];
      for (const { status, text } of nowhere) expect(statuses, text).to.include(status);
      expect(await app.head()).to.equal(before);
    });
  }

  it("is nothing in a path, in whatever way it is written", async () => {
    const odd = [
      "..",
      "%2e%2e",
      "%252e%252e",
      "..%2f..",
      "%2e%2e%2fetc",
      "anna%2f..",
      "anna%00",
      "anna.",
    ];
    for (const name of odd) {
      for (const at of [`/project/${name}/${world.project.alias}`, `/project/anna/${name}`]) {
        const { status } = await app.get(at, people.anna);
        // Clients resolve such a path to a list before they send it.
        const isList = /^\/project\/(?:anna\/)?(?:\.\.|%2e%2e)$/.test(at);
        expect([403, 404, 405, ...(isList ? [200] : [])], at).to.include(status);
        for (const ending of ["", ".git"]) {
          const answer = await fetch(`${app.url}${at}${ending}/info/refs?service=git-upload-pack`);
          await answer.arrayBuffer();
          expect([400, 401, 403, 404, 405], at).to.include(answer.status);
        }
      }
    }
  });

  it("is not pushed either", async () => {
    for (const ref of ["refs/heads/../../x", "refs/odd/x", "refs/heads/HEAD", "HEAD"]) {
      const { exitCode } = await tryGit(world.copy, ["push", "origin", `main:${ref}`]);
      expect(exitCode, ref).not.to.equal(0);
    }
    expect(await git(world.copy, "ls-remote", "origin")).to.match(
      /^\w+\tHEAD\n\w+\trefs\/heads\/main$/,
    );
  });

  it("left nothing on the disk but repositories named by ids", async () => {
    for (const name of await onDisk()) {
      expect(name).to.match(
        /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.git|hooks|temporary)$/,
      );
    }
  });
});
