import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { commit, git } from "../../../support/git/git.ts";
import {
  givenPeople,
  type People,
  type RefWorld,
  refWorlds,
} from "../../../support/git/ref-world.ts";

const app = await startTestApp();
const commits: string[] = [];
const newWorld = await refWorlds(app, async (copy) => {
  await git(copy, "checkout", "--quiet", "-b", "side");
  for (const name of ["one", "two", "three", "four"]) {
    commits.push(await commit(copy, name, { [name]: name }));
  }
  await git(copy, "checkout", "--quiet", "main");
  await commit(copy, "Main", { "main.txt": "main\n" });
});
let people: People;
let world: RefWorld;

before(async () => {
  people = await givenPeople(app);
  world = await newWorld(people);
});

const pick = (hash: string) =>
  world.post(people.bob, `/commit/${hash}/cherry-pick`, { branchName: "main" });
const bare = (...args: string[]) => git(world.gitDir, "--git-dir=.", ...args);

describe("POST …/commit/{hash}/cherry-pick", () => {
  it("is done on what the branch has become when others are faster", async () => {
    const answers = await Promise.all(commits.map((hash) => pick(hash)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    const files = (await bare("ls-tree", "-r", "--name-only", "main")).split("\n");
    expect(files).to.include.members(["one", "two", "three", "four"]);
    expect(await bare("rev-list", "--count", "main")).to.equal("6");
  });
});
