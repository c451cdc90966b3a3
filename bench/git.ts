import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import path from "node:path";

import { commit, git, workingCopy } from "../test/support/git/git.ts";
import { figure, median, timed } from "./figure.ts";
import { withService } from "./service.ts";

/** Clone and push through the service, against the same by file:// on the same disk. */
const rounds = 5;

await withService(async ({ directory, project }) => {
  const histories = { "this history": await ownHistory(directory), ...(await large(directory)) };
  for (const [name, source] of Object.entries(histories)) {
    const slug = name.replaceAll(" ", "-");
    const pushes: { ours: number; baseline: number }[] = [];
    const clones: { ours: number; baseline: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const bare = path.join(directory, `${slug}-${round}.git`);
      await git(directory, "init", "--quiet", "--bare", bare);
      const local = `file://${bare}`;
      const remote = await project(`${slug}-${round}`);
      pushes.push({
        baseline: await timed(() => git(source, "push", "--quiet", local, "HEAD:refs/heads/main")),
        ours: await timed(() => git(source, "push", "--quiet", remote, "HEAD:refs/heads/main")),
      });
      clones.push({
        baseline: await timed(() => clone(directory, local)),
        ours: await timed(() => clone(directory, remote)),
      });
    }
    tell(`push of ${name}`, pushes);
    tell(`clone of ${name}`, clones);
  }
});

function tell(name: string, times: readonly { ours: number; baseline: number }[]): void {
  const baseline = { name: "file://", value: median(times.map((time) => time.baseline)) };
  figure(name, "ms", median(times.map(({ ours }) => ours)), baseline);
}

async function clone(directory: string, from: string): Promise<void> {
  const into = path.join(directory, "clone");
  await git(directory, "clone", "--quiet", "--bare", from, into);
  await rm(into, { recursive: true });
}

async function ownHistory(directory: string): Promise<string> {
  const into = path.join(directory, "own");
  await git(directory, "clone", "--quiet", "--bare", process.cwd(), into);
  return into;
}

/** Bytes that do not compress: what is measured is how they are carried. */
async function large(directory: string): Promise<Readonly<Record<string, string>>> {
  const copy = await workingCopy(directory, "large");
  for (let index = 0; index < 4; index += 1) {
    await commit(copy, `Part ${index}`, { [`part-${index}.bin`]: randomBytes(8 * 1024 ** 2) });
  }
  return { "32 MiB in 4 files": copy };
}
