import { expect } from "chai";

import { startTestApp, type TestUser } from "../app/app.ts";
import { gitWithKey, newKey, registerKey, sshRemote } from "../client/ssh.ts";
import { commit, git, temporaryDirectory, tryGit } from "../git/git.ts";
import { givenPeople, type RefWorld, refWorlds } from "../git/ref-world.ts";
import { chosen, type Extent } from "./sample.ts";

/** Whether the user was let. */
type Way = (user: TestUser, name: string) => Promise<boolean>;
type Answered = Readonly<{ status: number }>;

export const ok = ({ status }: Answered): boolean => status === 200;
export const newFile = (branch: string) => ({
  ...{ branch, message: "x" },
  actions: [{ action: "CREATE", path: `new-${Math.random()}`, content: "x" }],
});

export type Protection = Awaited<ReturnType<typeof givenProtection>>;

/** A service with SSH, people with keys, and projects in which rules protect refs. */
export async function givenProtection() {
  const app = await startTestApp({ ssh: {} });
  /** A commit that main does not have, on branch `side`. */
  let side = "";
  const newWorld = await refWorlds(app, async (copy) => {
    await git(copy, "checkout", "--quiet", "-b", "side");
    side = await commit(copy, "Side", { "side.txt": "side\n" });
    await git(copy, "checkout", "--quiet", "main");
  });
  const people = await givenPeople(app);
  const directory = await temporaryDirectory();
  const keys = new Map<string, string>();
  async function keyOf(user: TestUser): Promise<string> {
    const known = keys.get(user.alias);
    if (known !== undefined) return known;
    const file = await newKey(directory, user.alias);
    await registerKey(app, user, file);
    keys.set(user.alias, file);
    return file;
  }
  const given = {
    ...{ app, people, side },
    world: await newWorld(people),
    async renewWorld(): Promise<void> {
      given.world = await newWorld(people);
    },
    async push(user: TestUser, ...args: string[]): Promise<boolean> {
      const { copy, remote } = given.world;
      return (await tryGit(copy, ["push", remote(user), ...args])).exitCode === 0;
    },
    /** With a key of the user, by the other transport. */
    async pushBySsh(user: TestUser, ...args: string[]): Promise<boolean> {
      const { copy, project } = given.world;
      const environment = gitWithKey(await keyOf(user), app.sshPort);
      const remote = sshRemote("anna", project.alias);
      return (await tryGit(copy, ["push", remote, ...args], environment)).exitCode === 0;
    },
    async protect(kind: string, template: string, level: string): Promise<void> {
      const rule =
        kind === "tag"
          ? { tagTemplate: template, allowToCreate: level }
          : { branchTemplate: template, allowedToPush: level };
      const made = await given.world.post(people.anna, `/${kind}-protection/create`, rule);
      expect(made).to.include({ status: 200 });
    },
  };
  return given;
}

type Ways = Readonly<Record<string, Readonly<Record<string, Way>>>>;

/** The same change by every interface. A new way to change a ref belongs here. */
const waysTo = (given: Protection): Ways => {
  const { push, pushBySsh, side } = given;
  const post = async (user: TestUser, rest: string, body: unknown) =>
    ok(await given.world.post(user, rest, body));
  const remove = async (user: TestUser, rest: string) => ok(await given.world.delete(user, rest));
  return {
    "move a branch": {
      "git push": (user, name) => push(user, `${side}:refs/heads/${name}`),
      "git push --force": (user, name) => push(user, "--force", `${side}:refs/heads/${name}`),
      "git push over SSH": (user, name) => pushBySsh(user, `${side}:refs/heads/${name}`),
      "git push --force over SSH": (user, name) =>
        pushBySsh(user, "--force", `${side}:refs/heads/${name}`),
      "git push with others": async (user, name) => {
        await push(user, `${side}:refs/heads/${name}`, `${side}:refs/heads/harmless`);
        return (await given.world.refs()).get(`refs/heads/${name}`) === side;
      },
      "POST commit": (user, name) => post(user, "/commit", newFile(name)),
      "POST cherry-pick": (user, name) =>
        post(user, `/commit/${side}/cherry-pick`, { branchName: name }),
      "POST revert": (user, name) =>
        post(user, `/commit/${given.world.head}/revert`, { branchName: name }),
    },
    "create a branch": {
      "git push": (user, name) => push(user, `${side}:refs/heads/${name}`),
      "git push over SSH": (user, name) => pushBySsh(user, `${side}:refs/heads/${name}`),
      "POST branch": (user, name) =>
        post(user, "/branch", { newBranch: name, originBranch: "side" }),
      "POST commit": (user, name) =>
        post(user, "/commit", { ...newFile(name), startBranch: "side" }),
    },
    "delete a branch": {
      "git push": (user, name) => push(user, `:refs/heads/${name}`),
      "git push over SSH": (user, name) => pushBySsh(user, `:refs/heads/${name}`),
      "DELETE branch": (user, name) =>
        remove(user, `/branch?branchName=${encodeURIComponent(name)}`),
    },
    "create a tag": {
      "git push": (user, name) => push(user, `${side}:refs/tags/${name}`),
      "git push over SSH": (user, name) => pushBySsh(user, `${side}:refs/tags/${name}`),
      "POST tag": (user, tagName) => post(user, "/tag/create", { tagName }),
      "POST release": (user, tagName) => {
        const body = { title: "R", description: "x", tagName, preRelease: false };
        return post(user, "/release", body);
      },
      "POST tag, annotated": (user, tagName) =>
        post(user, "/tag", { tagName, message: "x", commitId: side }),
    },
    "change or delete a tag": {
      "git push --force": (user, name) => push(user, "--force", `${side}:refs/tags/${name}`),
      "git push of nothing": (user, name) => push(user, `:refs/tags/${name}`),
      "git push --force over SSH": (user, name) =>
        pushBySsh(user, "--force", `${side}:refs/tags/${name}`),
      "git push of nothing over SSH": (user, name) => pushBySsh(user, `:refs/tags/${name}`),
      "DELETE tag": (user, name) => remove(user, `/tag/${encodeURIComponent(name)}`),
    },
  };
};

const ruleOf = (act: string) => (act.includes("tag") ? "tag" : "branch");

function doorOf(way: string): string {
  if (way.includes("SSH")) return "git over SSH";
  return way.startsWith("git") ? "git over HTTP" : "the interface";
}

/** What a way needs to be there already. */
async function prepare({ copy }: RefWorld, act: string, name: string): Promise<void> {
  if (act === "change or delete a tag")
    await git(copy, "push", "--quiet", "origin", `main:refs/tags/${name}`);
  if (act === "delete a branch" || (act === "move a branch" && name !== "main")) {
    await git(copy, "push", "--quiet", "origin", `main:refs/heads/${name}`);
  }
}

/** Declares tests of every way to change a protected ref; in a sample, of one for each kind of rule and interface. */
export function protectedChanges(given: Protection, extent: Extent): void {
  const { people } = given;
  const all = Object.entries(waysTo(given)).flatMap(([act, ways]) =>
    Object.entries(ways).map(([way, tryIt]) => ({ act, way, tryIt })),
  );
  for (const { act, way, tryIt } of chosen(
    extent,
    all,
    ({ act, way }) => `${ruleOf(act)} ${doorOf(way)}`,
  )) {
    // In one project: what is refused leaves it as it was, and what is allowed comes last.
    describe(`to ${act} by ${way}`, () => {
      before(async () => {
        await given.renewWorld();
        await prepare(given.world, act, "guarded/1.x");
        await prepare(given.world, act, "free");
      });

      it("is refused to a developer where a rule requires an admin, and to everybody where it says nobody", async () => {
        const name = "guarded/1.x";
        const guarded = async () =>
          [...(await given.world.refs())].filter(([ref]) => ref.endsWith(name));
        await given.protect(ruleOf(act), "guarded/*", "ADMINS");
        const before = await guarded();
        expect(await tryIt(people.bob, name), "a developer was let").to.equal(false);
        await given.protect(ruleOf(act), "**/1.*", "NO_ONE");
        expect(await tryIt(people.anna, name), "the owner was let").to.equal(false);
        expect(await guarded()).to.deep.equal(before);
      });

      it("is never for a reporter", async () => {
        expect(await tryIt(people.carl, "free"), "a reporter was let").to.equal(false);
      });

      it("is open where no rule says otherwise, so that it is the rule that refuses", async () => {
        expect(await tryIt(people.bob, "free"), "a developer was let").to.equal(true);
      });
    });
  }
}
