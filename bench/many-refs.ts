import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

import { commit, git, workingCopy } from "../test/support/git/git.ts";
import { figure, timed } from "./figure.ts";
import { must } from "./must.ts";
import { withService } from "./service.ts";

/**
 * A push of many new refs, as of a repository that moves here, whose refs are synced together; against the same
 * push with one more ref that was there before, for which git syncs each by itself. Over SSH: git's client for
 * HTTP compares each ref with all others, which takes it longer than all the rest.
 */
const refsCount = Number(process.argv[2] ?? 5_000);
const rounds = Number(process.argv[3] ?? 1);

await withService(async ({ directory, project, ssh }) => {
  const source = await workingCopy(directory, "source");
  await commit(source, "First", { "a.txt": "a\n" });
  const head = await commit(source, "Second", { "a.txt": "aa\n" });
  const child = spawn("git", ["update-ref", "--stdin"], {
    ...{ cwd: source, stdio: ["pipe", "ignore", "inherit"] },
  });
  const ended = once(child, "close");
  const lines = Array.from({ length: refsCount }, (_, index) => `create ${name(index)} ${head}\n`);
  child.stdin.end(lines.join(""));
  await ended;
  await git(source, "pack-refs", "--all");

  for (let round = 0; round < rounds; round += 1) {
    const news = ["refs/heads/n/*:refs/heads/n/*", "refs/tags/*:refs/tags/*"];
    const push = (remote: string, ...refs: string[]) =>
      timed(() => must(source, ssh.environment, "push", "--quiet", remote, ...refs));
    const [together, apart] = [`t-${round}`, `a-${round}`];
    for (const name of [together, apart]) {
      await push(await project(name), "main~1:refs/heads/was");
    }
    const ours = await push(ssh.remote(together), ...news);
    const value = await push(ssh.remote(apart), ...news, "main:refs/heads/was");
    const bare = path.join(directory, `bare-${round}.git`);
    await must(directory, {}, "init", "--quiet", "--bare", bare);
    const file = await push(`file://${bare}`, ...news);
    const what = `push of ${refsCount} new refs over SSH`;
    figure(what, "ms", ours, { name: "synced one by one", value });
    figure(what, "ms", ours, { name: "git over file://", value: file });
  }
});

/** A fifth of them branches, in directories of a thousand. */
function name(index: number): string {
  const kind = index % 5 === 0 ? "heads/n" : "tags";
  return `refs/${kind}/${Math.floor(index / 1_000)}/${index}`;
}
