import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";

import { commit, git, tryGit, workingCopy } from "../test/support/git/git.ts";
import { figure, median, quantile, timed } from "./figure.ts";
import { rate } from "./load.ts";
import { peakMebibytes } from "./peak.ts";
import { putRefs } from "./refs.ts";
import { withService } from "./service.ts";
import { settled } from "./settled.ts";

/** Lists and diffs of a repository with many commits, branches, tags and changed lines. */
const commitCount = 20_000;
const branchCount = 5_000;
const tagCount = 20_000;
const signedCount = 20;
const pagesRequested = 300;
const filesRequested = 20;

await withService(async ({ service, directory, authorization, email, key, project }) => {
  const copy = await workingCopy(directory, "copy");
  execFileSync("git", ["fast-import", "--quiet"], { cwd: copy, input: [...commits()].join("") });
  const history = (await git(copy, "rev-list", "main")).split("\n");
  await git(copy, "checkout", "--quiet", "main");
  const file = (text: string) => Object.fromEntries(files(500).map((name) => [name, text]));
  await commit(copy, "Files", file("export const one = 1;\n".repeat(100)));
  const changed = await commit(copy, "Diff", file("export const one = 2;\n".repeat(100)));
  const million = "a line of thirty characters...\n".repeat(1_000_000);
  const large = await commit(copy, "Large", { "million.txt": million });
  await signSome(copy, key, email);
  execFileSync("git", ["fast-import", "--quiet"], { cwd: copy, input: refsAt(history).join("") });
  await git(copy, "push", "--quiet", await project("many"), "main");
  const recorded = await timed(() => putRefs({ service, authorization }, "many", copy));
  const refs = `${branchCount} branches and ${tagCount} tags`;
  // What follows a change of so many refs would take its part of the machine.
  await settled(service);
  process.stdout.write(`${refs} recorded in ${Math.round(recorded)} ms\n`);

  const at = `${service.url}/project/bench/many`;
  const newest = await (await fetch(`${at}/commits`, { headers: { authorization } })).text();
  if (!newest.includes('"verified":true')) throw new Error("signatures are not verified");
  await rate("GET commits", `${at}/commits`, authorization);
  await rate("GET branch list", `${at}/branch`, authorization);
  await rate("GET tag list", `${at}/tag`, authorization);
  await rate("GET files of a 500-file commit", `${at}/commit/${changed}/file`, authorization);
  await rate("GET diff of a file", `${at}/commit/${changed}/diff?filePath=f1.ts`, authorization);

  const send = async (url: string): Promise<void> => {
    const answer = await fetch(url, { headers: { authorization } });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  };
  for (const [name, list, count] of [
    ["pages of branches, p99", "branch", branchCount],
    ["pages of tags, p99", "tag", tagCount],
    ["pages of commits, p99", "commits", commitCount],
  ] as const) {
    const size = 50;
    const times: number[] = [];
    for (let index = 0; index < pagesRequested; index += 1) {
      const page = (index * 7) % Math.floor(count / size);
      times.push(await timed(() => send(`${at}/${list}?size=${size}&page=${page}`)));
    }
    const [p50 = 0, p99 = 0] = [0.5, 0.99].map((part) => quantile(times, part));
    figure(name, "ms", p99, { name: "p50", value: p50 });
  }

  const head = await git(copy, "rev-parse", "main");
  const ofFiles = files(filesRequested).map((_, index) => pathOf(index * 37));
  for (const [name, query, ...command] of [
    ["commits of a path", (p: string) => `commits?path=${p}`, "rev-list"],
    [
      "last commit of a file",
      (p: string) => `commit/${head}/for-file?filePath=${p}`,
      ...["rev-list", "--max-count=1"],
    ],
  ] as const) {
    const each = (run: (path: string) => Promise<unknown>) =>
      inTurn(ofFiles, (name) => timed(() => run(name)));
    const first = await each((name) => send(`${at}/${query(name)}`));
    const again = await each((name) => send(`${at}/${query(name)}`));
    const real = await each((name) => git(copy, ...command, head, "--", name));
    const baseline = { name: "git without Bloom filters", value: median(real) };
    figure(`${name}, at first`, "ms", median(first), baseline);
    figure(`${name}, again`, "ms", median(again), baseline);
  }

  const http = await service.pidOf("http");
  const before = await peakMebibytes(http);
  const watch = watchChildren(http);
  const took = await timed(() => send(`${at}/commit/${large}/file`));
  const children = await watch.stop();
  const real = await timed(() => git(copy, "diff-tree", "--numstat", `${large}~`, large));
  figure("a diff of 1,000,000 lines", "ms", took, { name: "git diff-tree", value: real });
  const after = await peakMebibytes(http);
  figure("memory of the service with it", "MiB", after, { name: "before", value: before });
  process.stdout.write(`memory of git with it: ${children.toFixed(0)} MiB\n`);
});

function files(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `f${index}.ts`);
}

/** One of a thousand files in fifty directories. */
function pathOf(index: number): string {
  return `d${index % 50}/f${index % 1_000}.txt`;
}

function* commits(): Generator<string> {
  for (let index = 1; index <= commitCount; index += 1) {
    const from = index === 1 ? "" : `from :${index - 1}\n`;
    const content = `data 12\n${String(index).padStart(11)}\n`;
    yield `commit refs/heads/main\nmark :${index}\ncommitter B <bench@example.org> ` +
      `${1_700_000_000 + index} +0000\ndata 2\nc\n\n${from}M 100644 inline ${pathOf(index)}\n${content}\n`;
  }
}

async function signSome(copy: string, key: string, email: string): Promise<void> {
  const as = ["-c", "gpg.format=ssh", "-c", `user.signingKey=${key}.pub`];
  for (let index = 0; index < signedCount; index += 1) {
    const args = [...as, "commit", "-S", "--quiet", "--allow-empty", "-m", `Signed ${index}`];
    const { exitCode, stderr } = await tryGit(copy, args, { GIT_COMMITTER_EMAIL: email });
    if (exitCode !== 0) throw new Error(stderr);
  }
}

function refsAt(ids: readonly string[]): readonly string[] {
  const branches = Array.from({ length: branchCount - 1 }, (_, index) => branch(index, ids));
  return [...branches, ...Array.from({ length: tagCount }, (_, index) => tag(index, ids))];
}

async function inTurn<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await run(item));
  return results;
}

function branch(index: number, ids: readonly string[]): string {
  const name = `refs/heads/b/${String(index).padStart(5, "0")}`;
  return `reset ${name}\nfrom ${ids[index % ids.length]}\n\n`;
}

/** Every other one is annotated. */
function tag(index: number, ids: readonly string[]): string {
  const [name, from] = [`t${String(index).padStart(5, "0")}`, ids[index % ids.length]];
  if (index % 2 === 1) return `reset refs/tags/${name}\nfrom ${from}\n\n`;
  const person = "tagger B <bench@example.org> 1700000000 +0000";
  return `tag ${name}\nfrom ${from}\n${person}\ndata 2\nt\n\n`;
}

/** The largest git that ran under the process meanwhile. */
function watchChildren(parent: number) {
  let largest = 0;
  const look = async (): Promise<void> => {
    for (const pid of await readdir("/proc")) {
      const status = /^\d+$/.test(pid)
        ? await readFile(`/proc/${pid}/status`, "utf8").catch(() => "")
        : "";
      if (status.startsWith("Name:\tgit") && status.includes(`\nPPid:\t${parent}\n`)) {
        largest = Math.max(largest, await peakMebibytes(pid));
      }
    }
  };
  const timer = setInterval(() => void look(), 20);
  return {
    async stop(): Promise<number> {
      clearInterval(timer);
      return largest;
    },
  };
}
