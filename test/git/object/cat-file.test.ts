import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { GitFailure } from "../../../src/git/failure.ts";
import { CatFile } from "../../../src/git/object/cat-file.ts";
import { CatFilePool } from "../../../src/git/object/cat-file-pool.ts";
import { eventually } from "../../support/app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const parent = await temporaryDirectory();
const noop = (): void => undefined;
const large = randomBytes(3 * 1024 ** 2);
let gitDirs: readonly string[];
let headId: string;

before(async () => {
  const copies = ["a", "b", "c"].map(async (name) => {
    const copy = await workingCopy(parent, name);
    headId = await commit(copy, "One", { "small.txt": "small\n", "large.bin": large });
    return `${copy}/.git`;
  });
  gitDirs = await Promise.all(copies);
});

describe("one reader process", () => {
  let reader: CatFile;
  beforeEach(() => {
    reader = new CatFile(gitDirs[0]!, noop, noop);
  });
  afterEach(() => reader.close());

  it("answers many concurrent queries, each with its own answer", async () => {
    const small = await git(parent, "-C", "a", "rev-parse", "HEAD:small.txt");
    const big = await git(parent, "-C", "a", "rev-parse", "HEAD:large.bin");
    const queries = Array.from(
      { length: 60 },
      (_, index) => [small, big, "0".repeat(40)][index % 3]!,
    );

    const answers = await Promise.all(
      queries.map((id, index) => (index % 2 === 0 ? reader.contents(id) : reader.info(id))),
    );

    for (const [index, answer] of answers.entries()) {
      const id = queries[index];
      expect(answer?.id).to.equal(id === "0".repeat(40) ? undefined : id);
      if (id === big) expect(answer?.bytes).to.equal(large.length);
      if (id === big && index % 2 === 0) {
        expect(answer).to.have.property("data").that.satisfies(large.equals.bind(large));
      }
    }
    expect(reader.pendingCount).to.equal(0);
  });

  it("reads a ref by its full name", async () => {
    expect(await reader.info("refs/heads/main")).to.include({ type: "commit" });
    expect(await reader.info("refs/heads/none")).to.equal(undefined);
  });

  it("fails the open queries when it ends, and all later ones", async () => {
    const query = reader.info("refs/heads/main");
    reader.close();
    await query.catch(noop);

    await expect(reader.info("refs/heads/main")).to.be.rejectedWith(GitFailure);
  });
});

describe("the pool of readers", () => {
  it("never runs more processes than its bound, and serves every repository all the same", async () => {
    const pool = new CatFilePool({ processesMax: 2, perRepositoryMax: 2 });
    const sizes: number[] = [];
    const questions = Array.from({ length: 90 }, async (_, index) => {
      const info = await pool.use(gitDirs[index % 3]!, (process) => {
        sizes.push(pool.size);
        return process.info("refs/heads/main");
      });
      return info?.type;
    });

    expect(new Set(await Promise.all(questions))).to.deep.equal(new Set(["commit"]));
    expect(Math.max(...sizes)).to.be.at.most(2);
    pool.close();
  });

  it("ends no process that still has something to answer, to make room for another", async () => {
    const pool = new CatFilePool({ processesMax: 1, perRepositoryMax: 1 });
    const big = await git(parent, "-C", "a", "rev-parse", "HEAD:large.bin");
    const reading = pool.use(gitDirs[0]!, (process) => process.contents(big));
    const other = pool.use(gitDirs[1]!, (process) => process.info("refs/heads/main"));
    expect((await reading)?.bytes).to.equal(large.length);
    expect((await other)?.type).to.equal("commit");
    pool.close();
  });

  it("adds a process for a busy repository, up to its own bound", async () => {
    const pool = new CatFilePool({ processesMax: 8, perRepositoryMax: 2 });
    const questions = Array.from({ length: 200 }, () =>
      pool.use(gitDirs[0]!, (process) => process.info(headId)),
    );
    await Promise.all(questions);

    expect(pool.size).to.equal(2);
    pool.close();
  });

  it("ends processes that nobody uses any more", async () => {
    const pool = new CatFilePool({ idleMs: 20 });
    await pool.use(gitDirs[0]!, (process) => process.info(headId));

    await eventually(() => pool.size === 0);
    pool.close();
  });

  it("refuses questions once closed", async () => {
    const pool = new CatFilePool();
    pool.close();
    await expect(pool.use(gitDirs[0]!, (process) => process.info(headId))).to.be.rejectedWith(
      "closed",
    );
  });
});
