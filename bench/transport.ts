import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { eventually } from "../test/support/app/eventually.ts";
import { git } from "../test/support/git/git.ts";
import { figure, median, timed } from "./figure.ts";
import { must } from "./must.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * Clone, fetch and push of large repositories over HTTP and SSH, against git over file:// on the same
 * disk. What is cloned and fetched from by file:// is a copy of the service's own repository, packed the
 * same. What is pushed to by file:// syncs and checks as the service does.
 */
const rounds = Number(process.env["ROUNDS"] ?? 3);
/** `push`, `clone` or both. */
const parts = process.argv.length > 2 ? process.argv.slice(2) : ["push", "clone"];
const manyCommits = 25_000;
/** The first answer is streamed, the second is kept as well. */
const timesUntilKept = 2;
const MiB = 1024 ** 2;

/** The settings that cost a push time and that a server cannot do without; see environment.ts. */
const durable = {
  "core.fsync": "committed",
  "core.fsyncMethod": "batch",
  "transfer.fsckObjects": "true",
} as const;

type Repository = Readonly<{ name: string; slug: string; source: string }>;
/** `again`: over HTTP a repeated request, whose pack is kept; `http` sends another request each time. */
type Way = "file" | "http" | "again" | "ssh";
type Times = Readonly<Partial<Record<Way, readonly number[]>>>;

await withService(async (bench) => {
  const { directory } = bench;
  const many = await imported(directory, "100,000 objects", "many", smallCommits());
  if (parts.includes("push")) {
    await push(bench, await imported(directory, "100 MiB", "hundred", largeFiles(4, 25)));
    await push(bench, many);
  }
  if (parts.includes("clone")) {
    await cloneAndFetch(bench, many, manyCommits / 2);
    await cloneAndFetch(bench, await imported(directory, "320 MiB", "large", largeFiles(8, 40)), 4);
  }
});

/** To a new and empty repository each time. */
async function push({ directory, project, ssh }: BenchService, { name, slug, source }: Repository) {
  const times = await interleaved(["file", "http", "ssh"], async (way, round) => {
    const to = `push-${slug}-${way}-${round}`;
    const bare = path.join(directory, `${to}.git`);
    const remote = way === "file" ? `file://${bare}` : await project(to);
    if (way === "file") await bareRepository(directory, bare);
    const from = way === "ssh" ? ssh.remote(to) : remote;
    const took = await timed(() => must(source, ssh.environment, "push", "-q", from, "main"));
    if (way === "file") await rm(bare, { recursive: true });
    return took;
  });
  tell(`push of ${name}`, times);
}

/** @param missing commits from the head on that a fetch has to bring */
async function cloneAndFetch(
  bench: BenchService,
  { name, slug, source }: Repository,
  missing: number,
) {
  const { directory, ssh, service, project } = bench;
  const http = await project(slug);
  await must(source, {}, "push", "-q", http, "main", `main~${missing}:refs/heads/half`);
  const own = await packed(path.join(service.dataDir, "repositories"), source);
  const bare = path.join(directory, `${slug}-copy.git`);
  await cp(own, bare, { recursive: true });
  const remotes = { file: `file://${bare}`, http, again: http, ssh: ssh.remote(slug) };
  const ways = ["file", "http", "again", "ssh"] as const;
  const into = path.join(directory, "into.git");
  const again = () => rm(into, { recursive: true, force: true });

  const clone = async (way: Way, ...options: string[]): Promise<number> => {
    const args = ["clone", "-q", "--bare", ...options, remotes[way], into];
    const took = await timed(() => must(directory, ssh.environment, ...args));
    await again();
    return took;
  };
  for (let index = 0; index < timesUntilKept; index += 1) await clone("again");
  const clones = await interleaved(ways, (way, round) => clone(way, ...unlikeOthers(way, round)));
  tell(`clone of ${name}`, clones);

  const half = path.join(directory, `${slug}-half.git`);
  const single = ["--bare", "--single-branch", "--branch=half"];
  await must(directory, {}, "clone", "-q", ...single, remotes.file, half);
  const fetch = async (way: Way, ...options: string[]): Promise<number> => {
    await cp(half, into, { recursive: true });
    const args = ["fetch", "-q", ...options, remotes[way], "main:refs/heads/main"];
    const took = await timed(() => must(into, ssh.environment, ...args));
    await again();
    return took;
  };
  for (let index = 0; index < timesUntilKept; index += 1) await fetch("again");
  const fetches = await interleaved(ways, (way, round) => fetch(way, ...unlikeOthers(way, round)));
  tell(`fetch of the newer half of ${name}`, fetches);
}

/** Something in the request that git does nothing with. */
function unlikeOthers(way: Way, round: number): string[] {
  return way === "http" ? [`--server-option=${round}`] : [];
}

/** In an order that turns with the rounds: what the machine does meanwhile meets all of them. */
async function interleaved(
  ways: readonly Way[],
  run: (way: Way, round: number) => Promise<number>,
): Promise<Times> {
  const times: Partial<Record<Way, number[]>> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const index of ways.keys()) {
      const way = ways[(index + round) % ways.length]!;
      times[way] = [...(times[way] ?? []), await run(way, round)];
    }
  }
  return times;
}

function tell(name: string, { file = [], http = [], again, ssh = [] }: Times): void {
  const baseline = { name: "file://", value: median(file) };
  figure(`${name} over HTTP`, "ms", median(http), baseline);
  if (again !== undefined) figure(`${name} over HTTP again`, "ms", median(again), baseline);
  figure(`${name} over SSH`, "ms", median(ssh), baseline);
}

async function bareRepository(directory: string, bare: string): Promise<void> {
  await git(directory, "init", "--quiet", "--bare", bare);
  for (const [key, value] of Object.entries(durable)) {
    await git(directory, `--git-dir=${bare}`, "config", key, value);
  }
}

/** The service's repository that has the same head, once upkeep has packed it. */
async function packed(root: string, source: string): Promise<string> {
  const head = await git(source, "rev-parse", "main");
  let found = "";
  await eventually(async () => {
    for (const at of await readdir(root, { recursive: true })) {
      if (!/^..\/..\/[^/]+\.git$/.test(at)) continue;
      // The last that upkeep writes: until then packs and refs are on their way to other places.
      const names = await readdir(path.join(root, at, "objects/info/commit-graphs")).catch(
        () => [],
      );
      if (!names.some((name) => name === "commit-graph-chain")) continue;
      const refs = await git(root, `--git-dir=${path.join(root, at)}`, "for-each-ref");
      if (refs.includes("refs/heads/half") && refs.includes(head)) found = path.join(root, at);
    }
    return found !== "";
  }, 120_000);
  return found;
}

async function imported(
  directory: string,
  name: string,
  slug: string,
  commands: Iterable<string | Buffer>,
): Promise<Repository> {
  const source = path.join(directory, `${slug}.git`);
  await git(directory, "init", "--quiet", "--bare", "--initial-branch=main", source);
  // Looking for differences between bytes that have none would take the client most of the time.
  await mkdir(path.join(source, "info"), { recursive: true });
  await writeFile(path.join(source, "info/attributes"), "*.bin -delta\n");
  const child = spawn("git", ["fast-import", "--quiet"], {
    cwd: source,
    stdio: ["pipe", "inherit", "inherit"],
  });
  const closed = once(child, "close");
  await pipeline(Readable.from(commands), child.stdin);
  const [code] = await closed;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  return { name, slug, source };
}

/** A commit, two trees and a blob each. */
function* smallCommits(): Generator<string> {
  for (let index = 1; index <= manyCommits; index += 1) {
    const content = `line ${index}\n`.repeat(1 + (index % 40));
    yield head(index) +
      `M 100644 inline d${index % 100}/f${index % 1_000}.txt\n` +
      `data ${Buffer.byteLength(content)}\n${content}\n`;
  }
}

/** Bytes that do not compress. */
function* largeFiles(count: number, mebibytes: number): Generator<string | Buffer> {
  for (let index = 1; index <= count; index += 1) {
    yield `${head(index)}M 100644 inline part-${index}.bin\ndata ${mebibytes * MiB}\n`;
    yield randomBytes(mebibytes * MiB);
    yield "\n";
  }
}

function head(index: number): string {
  const person = `committer B <bench@example.org> ${1_700_000_000 + index} +0000`;
  return `commit refs/heads/main\n${person}\ndata 2\nc\n\n`;
}
