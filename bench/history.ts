import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";

import { commit, git, workingCopy } from "../test/support/git.ts";
import { figure, timed } from "./figure.ts";
import { rate } from "./load.ts";
import { withService } from "./service.ts";

/** Lists and diffs of a repository with many commits, branches, tags and changed lines. */
const branchCount = 5_000;
const tagCount = 20_000;
const pagesAsked = 400;
const refsAtOnce = 1_000;

await withService(async ({ service, directory, authorization, project }) => {
  const copy = await workingCopy(directory, "copy");
  execFileSync("git", ["fast-import", "--quiet"], { cwd: copy, input: [...commits()].join("") });
  const history = (await git(copy, "rev-list", "main")).split("\n");
  await git(copy, "checkout", "--quiet", "main");
  const file = (text: string) => Object.fromEntries(files(500).map((name) => [name, text]));
  await commit(copy, "Files", file("export const one = 1;\n".repeat(100)));
  const changed = await commit(copy, "Diff", file("export const one = 2;\n".repeat(100)));
  const million = "a line of thirty characters...\n".repeat(1_000_000);
  const large = await commit(copy, "Large", { "million.txt": million });
  const remote = await project("many");
  const pushed = await timed(async () => {
    await git(copy, "push", "--quiet", remote, "main");
    await pushRefs(copy, remote, history);
  });
  const refs = `${branchCount} branches and ${tagCount} tags`;
  process.stdout.write(`${refs} pushed in ${Math.round(pushed)} ms\n`);

  const path = `${service.url}/project/bench/many`;
  await rate("GET commits", `${path}/commits`, authorization);
  await rate("GET branch list", `${path}/branch`, authorization);
  await rate("GET tag list", `${path}/tag`, authorization);
  await rate("GET files of a 500-file commit", `${path}/commit/${changed}/file`, authorization);
  await rate("GET diff of a file", `${path}/commit/${changed}/diff?filePath=f1.ts`, authorization);

  const ask = async (url: string): Promise<void> => {
    const answer = await fetch(url, { headers: { authorization } });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  };
  for (const [name, list, count] of [
    ["pages of branches, p99", "branch", branchCount],
    ["pages of tags, p99", "tag", tagCount],
    ["pages of commits, p99", "commits", 2_000],
  ] as const) {
    const size = 50;
    const times: number[] = [];
    for (let index = 0; index < pagesAsked; index += 1) {
      const page = (index * 7) % Math.floor(count / size);
      times.push(await timed(() => ask(`${path}/${list}?size=${size}&page=${page}`)));
    }
    const [p50 = 0, p99 = 0] = [0.5, 0.99].map((part) => quantile(times, part));
    figure(name, "ms", p99, { name: "p50", value: p50 });
  }

  const http = await service.pidOf("http");
  const before = await peakMebibytes(http);
  const watch = watchChildren(http);
  const took = await timed(() => ask(`${path}/commit/${large}/file`));
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

function* commits(): Generator<string> {
  for (let index = 1; index <= 2_000; index += 1) {
    const from = index === 1 ? "" : `from :${index - 1}\n`;
    const content = `data 12\n${String(index).padStart(11)}\n`;
    yield `commit refs/heads/main\nmark :${index}\ncommitter B <bench@example.org> ` +
      `${1_700_000_000 + index} +0000\ndata 2\nc\n\n${from}M 100644 inline a.txt\n${content}\n`;
  }
}

/** Some at a time, and gone here afterwards: git's client takes the square of their number to match. */
async function pushRefs(copy: string, remote: string, ids: readonly string[]): Promise<void> {
  const branches = Array.from({ length: branchCount - 1 }, (_, index) => branch(index, ids));
  const tags = Array.from({ length: tagCount }, (_, index) => tag(index, ids));
  const all = [...branches, ...tags];
  for (let at = 0; at < all.length; at += refsAtOnce) {
    const input = all.slice(at, at + refsAtOnce).join("");
    execFileSync("git", ["fast-import", "--quiet"], { cwd: copy, input });
    const specs = ["refs/heads/b/*:refs/heads/b/*", "refs/tags/*:refs/tags/*"];
    await git(copy, "push", "--quiet", remote, ...specs);
    const format = "--format=delete %(refname)";
    const deletes = await git(copy, "for-each-ref", format, "refs/heads/b", "refs/tags");
    execFileSync("git", ["update-ref", "--stdin"], { cwd: copy, input: `${deletes}\n` });
  }
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

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Most that a process has held; see proc(5). */
async function peakMebibytes(pid: number | string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
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
