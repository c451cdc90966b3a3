import path from "node:path";

import { commit, git, workingCopy } from "../test/support/git/git.ts";
import { figure, median, timed } from "./figure.ts";
import { withService } from "./service.ts";

/**
 * Merging a request over REST against git doing the same by hand (merge-tree, commit-tree, update-ref), and
 * the first answer about the changes of 500 files against `git diff`.
 */
const mergesCount = 25;
const comparisons = 7;
const filesCount = 500;

await withService(async ({ service, directory, authorization, project }) => {
  const send = async (method: string, at: string, body?: unknown): Promise<void> => {
    const headers = { authorization, "content-type": "application/json" };
    const answer = await fetch(`${service.url}/project/bench/forge${at}`, {
      ...{ method, headers, body: body === undefined ? null : JSON.stringify(body) },
    });
    if (!answer.ok) throw new Error(`${at} answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const open = (branch: string) =>
    send("POST", "/merge-request", {
      title: branch,
      sourceBranch: { id: branch },
      targetBranch: { id: "main" },
    });

  const copy = await workingCopy(directory, "copy");
  await commit(copy, "First", Object.fromEntries(files(filesCount, "one")));
  for (let index = 0; index < mergesCount; index += 1) {
    await git(copy, "checkout", "--quiet", "-b", `m-${index}`, "main");
    await commit(copy, `Change ${index}`, { [`new/${index}.txt`]: `${index}\n` });
  }
  for (let index = 0; index < comparisons; index += 1) {
    await git(copy, "checkout", "--quiet", "-b", `c-${index}`, "main");
    await commit(copy, `All ${index}`, Object.fromEntries(files(filesCount, `two ${index}`)));
  }
  await git(copy, "checkout", "--quiet", "main");
  const bare = path.join(directory, "bare.git");
  await git(directory, "clone", "--quiet", "--bare", copy, bare);
  await git(copy, "push", "--quiet", "--all", await project("forge"));

  const merges = { ours: [] as number[], git: [] as number[] };
  for (let index = 0; index < mergesCount; index += 1) {
    await open(`m-${index}`);
    merges.ours.push(await timed(() => send("POST", `/merge-request/${index + 1}/merge`, {})));
    merges.git.push(await timed(() => mergeByHand(bare, `m-${index}`)));
  }
  const byHand = { name: "git by hand", value: median(merges.git) };
  figure("a merge over REST", "ms", median(merges.ours), byHand);

  const changes = { ours: [] as number[], git: [] as number[] };
  for (let index = 0; index < comparisons; index += 1) {
    await open(`c-${index}`);
    const at = `/merge-request/${mergesCount + index + 1}/changes?size=${filesCount}`;
    changes.ours.push(await timed(() => send("GET", at)));
    const range = [`main...c-${index}`];
    changes.git.push(await timed(() => git(bare, "diff", "--raw", "--numstat", ...range)));
  }
  const diff = { name: "git diff", value: median(changes.git) };
  figure(`changes of ${filesCount} files`, "ms", median(changes.ours), diff);
});

function files(count: number, text: string): readonly (readonly [string, string])[] {
  return Array.from({ length: count }, (_, n) => [
    `dir-${n % 20}/${n}.txt`,
    `${n}\n${text}\nlast\n`,
  ]);
}

async function mergeByHand(bare: string, branch: string): Promise<void> {
  const tree = await git(bare, "merge-tree", "--write-tree", "main", branch);
  const parents = ["-p", "main", "-p", branch];
  const made = await git(bare, "commit-tree", "-m", `Merge ${branch}`, ...parents, tree);
  await git(bare, "update-ref", "refs/heads/main", made);
}
