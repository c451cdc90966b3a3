import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

import { commit, git, workingCopy } from "../test/support/git.ts";
import { figure, median, timed } from "./figure.ts";
import { withService } from "./service.ts";

/**
 * Tags and commits made over REST, one after another, against git doing the same in a bare
 * repository; and the same in a repository of many refs, against one of few.
 */
const tagsCount = 1_000;
const commitsCount = 200;
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
  const tags = await perSecond(tagsCount, (index) => post(`${few}/tag/create`, tag(index)));
  const localTags = await perSecond(tagsCount, (index) => git(bare, "tag", `t-${index}`, head));
  figure("tags over REST", "/s", tags, { name: "git tag", value: localTags });

  const tree = await git(source, "rev-parse", "HEAD^{tree}");
  const commits = await perSecond(commitsCount, (index) => post(`${few}/commit`, change(index)));
  const localCommits = await perSecond(commitsCount, async (index) => {
    const made = await git(bare, "commit-tree", "-m", `Change ${index}`, "-p", head, tree);
    await git(bare, "update-ref", "refs/heads/main", made);
  });
  const baseline = { name: "git commit-tree, update-ref", value: localCommits };
  figure("commits over REST", "/s", commits, baseline);

  await manyRefs(source, head);
  await git(source, "push", "--quiet", "--mirror", await project("many"));
  const many = "/project/bench/many";
  const each = async (base: string) => {
    const times = { tag: [] as number[], commit: [] as number[] };
    for (let index = tagsCount; index < tagsCount + 100; index += 1) {
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

async function perSecond(count: number, run: (index: number) => Promise<unknown>): Promise<number> {
  const ms = await timed(async () => {
    for (let index = 0; index < count; index += 1) await run(index);
  });
  return (count * 1_000) / ms;
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
