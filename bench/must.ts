import { tryGit } from "../test/support/git/git.ts";

/** Runs git, with more in its environment. @throws Error with what it said when it fails */
export async function must(
  cwd: string,
  env: Record<string, string>,
  ...args: string[]
): Promise<void> {
  const { exitCode, stderr } = await tryGit(cwd, args, env);
  if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
}
