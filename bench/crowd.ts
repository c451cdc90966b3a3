import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { clientEnvironment, git } from "../test/support/git/git.ts";
import { figure, quantile, timed } from "./figure.ts";
import { withService } from "./service.ts";

/**
 * How long reads over REST take while sixteen clones are under way at once, of one repository and of as many
 * that no client fetched before, against the same reads on a quiet service. The clients get idle processor
 * time only (chrt(1)): elsewhere they have machines of their own.
 */
const clones = 16;
const commits = 10_000;
const quietMs = 8_000;
const pauseMs = 5;

await withService(async ({ service, directory, authorization, project }) => {
  const source = path.join(directory, "source.git");
  await git(directory, "init", "--quiet", "--bare", "--initial-branch=main", source);
  execFileSync("git", ["fast-import", "--quiet"], { cwd: source, input: [...history()].join("") });
  const remote = await project("crowd");
  await git(source, "push", "-q", remote, "main");
  const head = await git(source, "rev-parse", "main");
  const at = `${service.url}/project/bench/crowd`;
  const urls = [at, `${at}/commit/${head}`, `${at}/blob?commitHash=${head}&file=d1/f1.txt`];
  const read = async (url: string): Promise<void> => {
    const answer = await fetch(url, { headers: { authorization } });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  };
  /** Reads one after another while `goOn` holds; how long each took. */
  const readWhile = async (goOn: () => boolean): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let index = 0; goOn(); index += 1) {
      times.push(await timed(() => read(urls[index % urls.length] ?? at)));
      await delay(pauseMs);
    }
    return times;
  };

  const until = performance.now() + quietMs;
  await readWhile(() => performance.now() < until - quietMs / 2);
  const quiet = await readWhile(() => performance.now() < until);
  for (const [what, options] of [
    ["of one repository", () => []],
    ["that nobody asked for before", (index: number) => [`--server-option=${index}`]],
  ] as const) {
    let under = clones;
    const begun = performance.now();
    const all = Array.from({ length: clones }, async (_, index) => {
      const into = `clone-${index}`;
      const args = ["clone", "-q", "--bare", ...options(index), remote, into];
      const child = spawn("chrt", ["--idle", "0", "git", ...args], {
        cwd: directory,
        env: clientEnvironment(directory),
        stdio: ["ignore", "ignore", "inherit"],
      });
      const [code] = await once(child, "close");
      under -= 1;
      if (code !== 0) throw new Error(`a clone ended with ${code}`);
      await rm(path.join(directory, into), { recursive: true });
    });
    const crowded = await readWhile(() => under > 0);
    await Promise.all(all);
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    process.stdout.write(
      `${clones} clones ${what} ended in ${seconds} s; ${crowded.length} reads meanwhile\n`,
    );
    for (const [name, part] of [
      ["p50", 0.5],
      ["p99", 0.99],
    ] as const) {
      const baseline = { name: "quiet", value: quantile(quiet, part) };
      figure(`REST reads beside them, ${name}`, "ms", quantile(crowded, part), baseline);
    }
  }
});

function* history(): Generator<string> {
  for (let index = 1; index <= commits; index += 1) {
    const content = `line ${index}\n`.repeat(1 + (index % 40));
    const person = `committer B <bench@example.org> ${1_700_000_000 + index} +0000`;
    yield `commit refs/heads/main\n${person}\ndata 2\nc\n\n` +
      `M 100644 inline d${index % 100}/f${index % 1_000}.txt\n` +
      `data ${Buffer.byteLength(content)}\n${content}\n`;
  }
}
