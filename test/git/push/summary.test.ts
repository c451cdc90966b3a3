import { expect } from "chai";

import { parseNameStatus, summarisePush } from "../../../src/git/push/summary.ts";
import { openGit } from "../../../src/git/repositories.ts";
import type { Repository } from "../../../src/git/repository.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const projectId = "7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f";

describe("what a push brought", () => {
  let repository: Repository;
  let copy: string;
  const ids: Record<string, string> = {};

  before(async () => {
    const directory = await temporaryDirectory();
    const repositories = openGit({ dataDir: directory, log: { warn: () => undefined } });
    after(() => repositories.close());
    repository = await repositories.ensure(projectId, "main");
    copy = await workingCopy(directory, "copy");

    ids["first"] = await commit(copy, "First", { "a.txt": "a\n", "b/c d.txt": "c\n" });
    await git(copy, "rm", "--quiet", "a.txt");
    ids["second"] = await commit(copy, "Second\n\nWith a body.", {
      "b/c d.txt": "changed\n",
      "é\n\u0001.txt": "odd\n",
    });
    await git(copy, "commit", "--quiet", "--allow-empty", "-m", "Empty");
    ids["empty"] = await git(copy, "rev-parse", "HEAD");
    await git(copy, "checkout", "--quiet", "-b", "side", ids["first"]);
    ids["side"] = await commit(copy, "Side", { "side.txt": "s\n" });
    await git(copy, "checkout", "--quiet", "main");
    await git(copy, "merge", "--quiet", "--no-ff", "-m", "Merge", "side");
    ids["merge"] = await git(copy, "rev-parse", "HEAD");
    await git(copy, "push", "--quiet", repository.gitDir, "main");
  });

  const summary = async (after: string, except: string[], countMax = 20) => {
    const { count, commits } = await summarisePush(repository, after, except, countMax);
    return { count, commits: commits.map((each) => ({ id: each.commit.id, ...each.files })) };
  };

  it("lists the commits between two heads, newest first, with their files", async () => {
    expect(await summary(ids["empty"]!, [ids["first"]!])).to.deep.equal({
      count: 2,
      commits: [
        { id: ids["empty"], added: [], modified: [], removed: [] },
        {
          id: ids["second"],
          added: ["é\n\u0001.txt"],
          modified: ["b/c d.txt"],
          removed: ["a.txt"],
        },
      ],
    });
  });

  it("depends on commits alone, whatever else is to be excluded", async () => {
    const tree = await git(copy, "rev-parse", `${ids["first"]}^{tree}`);
    const odd = ["--all", "HEAD", "refs/heads/main", tree, "0".repeat(40)];
    const { count } = await summary(ids["empty"]!, [...odd, ids["second"]!]);
    expect(count).to.equal(1);
    expect(await summary(tree, [])).to.deep.equal({ count: 0, commits: [] });
    expect(await summary("main", [])).to.deep.equal({ count: 0, commits: [] });
  });

  it("lists the files of the very first commit", async () => {
    expect(await summary(ids["first"]!, [])).to.deep.equal({
      count: 1,
      commits: [{ id: ids["first"], added: ["a.txt", "b/c d.txt"], modified: [], removed: [] }],
    });
  });

  it("reports what a merge brought to its branch", async () => {
    const { count, commits } = await summary(ids["merge"]!, [ids["empty"]!]);
    expect(count).to.equal(2);
    expect(commits[0]).to.deep.equal({
      id: ids["merge"],
      added: ["side.txt"],
      modified: [],
      removed: [],
    });
  });

  it("counts all and lists no more than requested", async () => {
    const { count, commits } = await summary(ids["merge"]!, [], 2);
    expect(count).to.equal(5);
    expect(commits).to.have.length(2);
  });

  it("takes commits as they are that are not there any more", async () => {
    const gone = "1".repeat(40);
    expect(await summary(gone, [])).to.deep.equal({ count: 0, commits: [] });
    expect((await summary(ids["first"]!, [gone])).count).to.equal(1);
  });

  for (const text of ["--output=/tmp/x", "-n1", "HEAD", "main", "^main", ""]) {
    it(`does not hand ${JSON.stringify(text)} to git`, async () => {
      expect(await summary(text, [])).to.deep.equal({ count: 0, commits: [] });
      expect((await summary(ids["first"]!, [text])).count).to.equal(1);
    });
  }

  it("reads what git prints, whatever the paths look like", () => {
    const text = "\u0001one\0\nA\0\u0001two\0M\0\nA\0\u0001three\0\u0001four\0\nT\0x\0";
    expect(Object.fromEntries(parseNameStatus(text))).to.deep.equal({
      one: { added: ["\u0001two"], modified: ["\nA"], removed: [] },
      three: { added: [], modified: [], removed: [] },
      four: { added: [], modified: ["x"], removed: [] },
    });
  });
});
