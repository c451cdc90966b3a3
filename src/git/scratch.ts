import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import type { Repository } from "./repository.ts";

const configuration = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

/** Works in a repository that reads the objects of another one, and that is removed with what was written into it. */
export async function inScratch<Result>(
  { gitDir, temporary }: Pick<Repository, "gitDir" | "temporary">,
  work: (scratch: Pick<Repository, "gitDir">) => Promise<Result>,
): Promise<Result> {
  await mkdir(temporary, { recursive: true });
  // What a process that died left there is removed at the next start.
  const scratch = await mkdtemp(path.join(temporary, "scratch-"));
  try {
    await mkdir(path.join(scratch, "objects", "info"), { recursive: true });
    await mkdir(path.join(scratch, "refs"));
    const files = {
      HEAD: "ref: refs/heads/main\n",
      config: configuration,
      [path.join("objects", "info", "alternates")]: `${path.join(gitDir, "objects")}\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      await writeFile(path.join(scratch, name), text);
    }
    return await work({ gitDir: scratch });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
