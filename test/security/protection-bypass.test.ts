import { expect } from "chai";

import { startTestApp, type TestUser } from "../support/app/app.ts";
import { gitWithKey, newKey, registerKey, sshRemote } from "../support/client/ssh.ts";
import { commit, git, temporaryDirectory, tryGit } from "../support/git/git.ts";
import { givenPeople, type People, type RefWorld, refWorlds } from "../support/git/ref-world.ts";
import { needsProgram } from "../support/process/program.ts";

/**
 * The same change by every interface: CVE-2026-25232, CVE-2025-68940, CVE-2026-58439. A new way to
 * change a ref belongs into `waysTo`.
 */
needsProgram("ssh", "ssh-keygen");
const app = await startTestApp({ ssh: {} });
/** A commit that main does not have, on branch `side`. */
let side: string;
const newWorld = await refWorlds(app, async (copy) => {
  await git(copy, "checkout", "--quiet", "-b", "side");
  side = await commit(copy, "Side", { "side.txt": "side\n" });
  await git(copy, "checkout", "--quiet", "main");
});
let people: People;
let world: RefWorld;
const keys = new Map<string, string>();

before(async () => {
  people = await givenPeople(app);
  const directory = await temporaryDirectory();
  for (const user of Object.values(people)) {
    const file = await newKey(directory, user.alias);
    await registerKey(app, user, file);
    keys.set(user.alias, file);
  }
});
const givenWorld = async () => {
  world = await newWorld(people);
};

type Way = (user: TestUser, name: string) => Promise<boolean>;

const ok = ({ status }: Readonly<{ status: number }>): boolean => status === 200;
const push = async (user: TestUser, ...args: string[]): Promise<boolean> =>
  (await tryGit(world.copy, ["push", world.remote(user), ...args])).exitCode === 0;
/** With a key of the user, by the other transport. */
const pushBySsh = async (user: TestUser, ...args: string[]): Promise<boolean> => {
  const environment = gitWithKey(keys.get(user.alias) ?? "", app.sshPort);
  const remote = sshRemote("anna", world.project.alias);
  return (await tryGit(world.copy, ["push", remote, ...args], environment)).exitCode === 0;
};
const newFile = (branch: string) => ({
  ...{ branch, message: "x" },
  actions: [{ action: "CREATE", path: `new-${Math.random()}`, content: "x" }],
});

/** Each answers whether it was let. */
const waysTo: Readonly<Record<string, Readonly<Record<string, Way>>>> = {
  "move a branch": {
    "git push": (user, name) => push(user, `${side}:refs/heads/${name}`),
    "git push --force": (user, name) => push(user, "--force", `${side}:refs/heads/${name}`),
    "git push over SSH": (user, name) => pushBySsh(user, `${side}:refs/heads/${name}`),
    "git push --force over SSH": (user, name) =>
      pushBySsh(user, "--force", `${side}:refs/heads/${name}`),
    "git push with others": async (user, name) => {
      await push(user, `${side}:refs/heads/${name}`, `${side}:refs/heads/harmless`);
      return (await world.refs()).get(`refs/heads/${name}`) === side;
    },
    "POST commit": async (user, name) => ok(await world.post(user, "/commit", newFile(name))),
    "POST cherry-pick": async (user, name) =>
      ok(await world.post(user, `/commit/${side}/cherry-pick`, { branchName: name })),
    "POST revert": async (user, name) =>
      ok(await world.post(user, `/commit/${world.head}/revert`, { branchName: name })),
  },
  "create a branch": {
    "git push": (user, name) => push(user, `${side}:refs/heads/${name}`),
    "git push over SSH": (user, name) => pushBySsh(user, `${side}:refs/heads/${name}`),
    "POST branch": async (user, name) =>
      ok(await world.post(user, "/branch", { newBranch: name, originBranch: "side" })),
    "POST commit": async (user, name) =>
      ok(await world.post(user, "/commit", { ...newFile(name), startBranch: "side" })),
  },
  "delete a branch": {
    "git push": (user, name) => push(user, `:refs/heads/${name}`),
    "git push over SSH": (user, name) => pushBySsh(user, `:refs/heads/${name}`),
    "DELETE branch": async (user, name) =>
      ok(await world.delete(user, `/branch?branchName=${encodeURIComponent(name)}`)),
  },
  "create a tag": {
    "git push": (user, name) => push(user, `${side}:refs/tags/${name}`),
    "git push over SSH": (user, name) => pushBySsh(user, `${side}:refs/tags/${name}`),
    "POST tag": async (user, tagName) => ok(await world.post(user, "/tag/create", { tagName })),
    "POST release": async (user, tagName) => {
      const body = { title: "R", description: "x", tagName, preRelease: false };
      return ok(await world.post(user, "/release", body));
    },
    "POST tag, annotated": async (user, tagName) =>
      ok(await world.post(user, "/tag", { tagName, message: "x", commitId: side })),
  },
  "change or delete a tag": {
    "git push --force": (user, name) => push(user, "--force", `${side}:refs/tags/${name}`),
    "git push of nothing": (user, name) => push(user, `:refs/tags/${name}`),
    "git push --force over SSH": (user, name) =>
      pushBySsh(user, "--force", `${side}:refs/tags/${name}`),
    "git push of nothing over SSH": (user, name) => pushBySsh(user, `:refs/tags/${name}`),
    "DELETE tag": async (user, name) =>
      ok(await world.delete(user, `/tag/${encodeURIComponent(name)}`)),
  },
};

const ruleOf = (act: string) => (act.includes("tag") ? "tag" : "branch");
const protect = async (kind: string, template: string, level: string) => {
  const rule =
    kind === "tag"
      ? { tagTemplate: template, allowToCreate: level }
      : { branchTemplate: template, allowedToPush: level };
  expect(await world.post(people.anna, `/${kind}-protection/create`, rule)).to.include({
    status: 200,
  });
};
/** What a way needs to be there already. */
async function given(act: string, name: string): Promise<void> {
  if (act === "change or delete a tag")
    await git(world.copy, "push", "--quiet", "origin", `main:refs/tags/${name}`);
  if (act === "delete a branch" || (act === "move a branch" && name !== "main")) {
    await git(world.copy, "push", "--quiet", "origin", `main:refs/heads/${name}`);
  }
}

for (const [act, ways] of Object.entries(waysTo)) {
  for (const [way, tryIt] of Object.entries(ways)) {
    // In one project: what is refused leaves it as it was, and what is allowed comes last.
    describe(`to ${act} by ${way}`, () => {
      before(async () => {
        await givenWorld();
        await given(act, "guarded/1.x");
        await given(act, "free");
      });

      it("is refused to a developer where a rule requires an admin, and to everybody where it says nobody", async () => {
        const name = "guarded/1.x";
        await protect(ruleOf(act), "guarded/*", "ADMINS");
        const before = [...(await world.refs())].filter(([ref]) => ref.endsWith(name));
        expect(await tryIt(people.bob, name)).to.equal(false);
        await protect(ruleOf(act), "**/1.*", "NO_ONE");
        expect(await tryIt(people.anna, name)).to.equal(false);
        const now = [...(await world.refs())].filter(([ref]) => ref.endsWith(name));
        expect(now).to.deep.equal(before);
      });

      it("is never for a reporter", async () => {
        expect(await tryIt(people.carl, "free")).to.equal(false);
      });

      it("is open where no rule says otherwise, so that it is the rule that refuses", async () => {
        expect(await tryIt(people.bob, "free")).to.equal(true);
      });
    });
  }
}

describe("a rule", () => {
  beforeEach(givenWorld);

  const mayMove = (name: string) => push(people.bob, `${side}:refs/heads/${name}`);

  it("cannot be walked around by a tag or a branch of the same name", async () => {
    await protect("branch", "main", "ADMINS");
    expect(await push(people.bob, `${side}:refs/tags/main`)).to.equal(true);
    expect(await mayMove("refs/heads/main"), "a branch called refs/heads/main").to.equal(true);
    expect((await world.refs()).get("refs/heads/main")).to.equal(world.head);
    const { body } = await app.get(world.at("/branch?branchName=main"), people.bob);
    expect(body["lastCommit"]).to.include({ hash: world.head });
    expect(ok(await world.post(people.bob, "/commit", newFile("main")))).to.equal(false);
  });

  it("holds after the project was renamed, given another default branch, and transferred", async () => {
    await protect("branch", "main", "ADMINS");
    const { token } = people.anna;
    const alias = `${world.project.alias}-renamed`;
    const base = `/project/anna/${alias}`;
    await app.put(world.at("/setting/alias"), { token, body: { alias } });
    await app.put(`${base}/setting/default-branch`, { token, body: { branchName: "side" } });
    const at = { token: people.bob.token };
    const commitTo = async (path: string) =>
      (await app.post(`${path}/commit`, { ...at, body: newFile("main") })).body["code"];
    expect(await commitTo(base)).to.equal("branch.protected");
    const gone = await app.delete(`${base}/branch?branchName=main`, at);
    expect(gone.body["code"]).to.equal("branch.protected");

    const company = `company-of-${alias}`;
    await app.post("/company", { token, body: { title: "C", alias: company } });
    const body = { ownerAlias: company, ownerAliasType: "COMPANY" };
    expect((await app.post(`${base}/transfer`, { token, body })).status).to.equal(200);
    expect(await commitTo(`/project/${company}/${alias}`)).to.equal("branch.protected");
  });

  it("is not lost by deleting and making the branch anew", async () => {
    await protect("branch", "stable", "DEVELOPER");
    await git(world.copy, "push", "--quiet", "origin", "side:refs/heads/stable");
    for (const user of [people.bob, people.anna]) {
      expect(await push(user, ":refs/heads/stable")).to.equal(false);
      expect(ok(await world.delete(user, "/branch?branchName=stable"))).to.equal(false);
      expect(await push(user, "--force", `${world.head}:refs/heads/stable`)).to.equal(false);
    }
  });

  it("is checked at the moment of the change, not of the request before", async () => {
    expect(ok(await world.post(people.bob, "/commit", newFile("main")))).to.equal(true);
    await protect("branch", "main", "ADMINS");
    expect(ok(await world.post(people.bob, "/commit", newFile("main")))).to.equal(false);
  });

  it("does not bind a fork, and a fork does not loosen it", async () => {
    await protect("branch", "main", "NO_ONE");
    await app.post(world.at("/fork"), {
      token: people.bob.token,
      body: { alias: `f-${world.project.alias}` },
    });
    expect(await mayMove("main")).to.equal(false);
  });
});
