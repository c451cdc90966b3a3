import { spawn } from "node:child_process";
import { once } from "node:events";

import { commit, git, workingCopy } from "../test/support/git.ts";
import { figure, timed } from "./figure.ts";
import { withService } from "./service.ts";

/**
 * A push of many new refs, as of somebody who moves here, whose refs are synced together; against the same
 * push with one more ref that was there before, for which git syncs each by itself.
 */
const refsCount = Number(process.argv[2] ?? 5_000);
const rounds = Number(process.argv[3] ?? 1);

await withService(async ({ directory, project }) => {
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
    const [together, apart] = [await project(`t-${round}`), await project(`a-${round}`)];
    for (const remote of [together, apart]) {
      await git(source, "push", "--quiet", remote, "main~1:refs/heads/was");
    }
    const news = ["refs/heads/n/*:refs/heads/n/*", "refs/tags/*:refs/tags/*"];
    const ours = await timed(() => git(source, "push", "--quiet", together, ...news));
    const value = await timed(() =>
      git(source, "push", "--quiet", apart, ...news, "main:refs/heads/was"),
    );
    figure(`push of ${refsCount} new refs`, "ms", ours, { name: "synced one by one", value });
  }
});

/** A fifth of them branches, in directories of a thousand. */
function name(index: number): string {
  const kind = index % 5 === 0 ? "heads/n" : "tags";
  return `refs/${kind}/${Math.floor(index / 1_000)}/${index}`;
}
