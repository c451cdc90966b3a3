import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

import { commit, git, workingCopy } from "../test/support/git/git.ts";
import { figure, median, timed } from "./figure.ts";
import { putRefs } from "./refs.ts";
import { withService } from "./service.ts";

/**
 * Tags and commits made over REST, one after another, against git doing the same in a bare
 * repository; and the same in a repository of many refs, against one of few.
 */
const tagsCount = 200;
const commitsCount = 100;
const comparedCount = 30;
const manyTags = 20_000;
const manyBranches = 5_000;

const tag = (index: number) => ({ tagName: `new-${index}`, branchName: "main" });
const change = (index: number) => ({
  branch: "main",
  message: `Change ${index}`,
  actions: [{ action: "CREATE", path: `files/${index % 10}/${index}.txt`, content: `${index}\n` }],
});

await withService(async ({ service, directory, authorization, project }) => {
  const post = async (at: string, body: unknown): Promise<void> => {
    const headers = { authorization, "content-type": "application/json" };
    const answer = await fetch(service.url + at, {
      ...{ method: "POST", headers, body: JSON.stringify(body) },
    });
    if (!answer.ok) throw new Error(`${at} answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const source = await workingCopy(directory, "source");
  const head = await commit(source, "First", { "a.txt": "a\n" });
  const bare = path.join(directory, "bare.git");
  await git(directory, "clone", "--quiet", "--bare", source, bare);

  await git(source, "push", "--quiet", await project("few"), "main");
  const few = "/project/bench/few";
  const tags = await inTurn(
    tagsCount,
    (index) => post(`${few}/tag/create`, tag(index)),
    (index) => git(bare, "tag", `t-${index}`, head),
  );
  figure("a tag over REST", "ms", tags.ours, { name: "git tag", value: tags.git });

  const tree = await git(source, "rev-parse", "HEAD^{tree}");
  const commits = await inTurn(
    commitsCount,
    (index) => post(`${few}/commit`, change(index)),
    async (index) => {
      const made = await git(bare, "commit-tree", "-m", `Change ${index}`, "-p", head, tree);
      await git(bare, "update-ref", "refs/heads/main", made);
    },
  );
  const baseline = { name: "git commit-tree, update-ref", value: commits.git };
  figure("a commit over REST", "ms", commits.ours, baseline);

  await manyRefs(source, head);
  await git(source, "push", "--quiet", await project("many"), "main");
  await putRefs({ service, authorization }, "many", source);
  const many = "/project/bench/many";
  const each = async (base: string) => {
    const times = { tag: [] as number[], commit: [] as number[] };
    for (let index = tagsCount; index < tagsCount + comparedCount; index += 1) {
      times.tag.push(await timed(() => post(`${base}/tag/create`, tag(index))));
      times.commit.push(await timed(() => post(`${base}/commit`, change(index))));
    }
    return times;
  };
  const [ofFew, ofMany] = [await each(few), await each(many)];
  for (const what of ["tag", "commit"] as const) {
    const held = { name: "few refs", value: median(ofFew[what]) };
    figure(`${what} among ${manyTags + manyBranches} refs`, "ms", median(ofMany[what]), held);
  }
});

/** Medians, of calls made in turn: whatever else the machine does slows both. */
async function inTurn(
  count: number,
  ours: (index: number) => Promise<unknown>,
  gits: (index: number) => Promise<unknown>,
): Promise<Readonly<{ ours: number; git: number }>> {
  const times = { ours: [] as number[], git: [] as number[] };
  for (let index = 0; index < count; index += 1) {
    times.ours.push(await timed(() => ours(index)));
    times.git.push(await timed(() => gits(index)));
  }
  return { ours: median(times.ours), git: median(times.git) };
}

async function manyRefs(cwd: string, head: string): Promise<void> {
  const child = spawn("git", ["update-ref", "--stdin"], {
    cwd,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const of = (kind: string, count: number) =>
    Array.from({ length: count }, (_, index) => `create refs/${kind}/many-${index} ${head}\n`);
  child.stdin.end([...of("tags", manyTags), ...of("heads", manyBranches)].join(""));
  await once(child, "close");
}
