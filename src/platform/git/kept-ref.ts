import { isObjectId } from "./name.ts";
import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";

/** Refs that the service keeps for itself: everybody may fetch them, no push changes them. */
export const keptPrefix = "refs/merge-requests/";
export const keptRef = /^refs\/merge-requests\/[1-9]\d{0,9}\/(?:head|merge)$/;

/** Points one of the service's own refs to an object, wherever it pointed before. */
export async function keepRef({ gitDir }: Repository, ref: string, id: string): Promise<void> {
  if (!keptRef.test(ref) || !isObjectId(id)) throw new Error(`${ref} is no ref of the service`);
  const input = ["start", `update ${ref} ${id}`, "prepare", "commit", ""].join("\n");
  await runGit(gitDir, ["update-ref", "--stdin"], { input, writes: true, changesRefs: true });
}
