import { isObjectId } from "./name.ts";
import { refsInFiles } from "./ref-files.ts";
import { runGit } from "./run.ts";

/** Refs of the service itself: they can be fetched, and no push changes them. */
export const servicePrefix = "refs/merge-requests/";
export const serviceRef = /^refs\/merge-requests\/[1-9]\d{0,9}\/(?:head|merge)$/;

type GitDirectory = Readonly<{ gitDir: string }>;

/** Another process moved the ref since it was read. */
export class ServiceRefMoved extends Error {
  override readonly name = "ServiceRefMoved";
}

/** The object that one of the service's own refs points to; null without such a ref. */
export async function readServiceRef(
  { gitDir }: GitDirectory,
  ref: string,
): Promise<string | null> {
  const read = await refsInFiles(gitDir, [ref]);
  if (read !== undefined) return read.get(ref) ?? null;
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", ref] as const;
  const { stdout } = await runGit(gitDir, args, { okCodes: [0, 1] });
  return stdout.toString("latin1").trim() || null;
}

/**
 * Points one of the service's own refs to an object, unless it does.
 *
 * @param before what it has to point to; undefined skips the comparison
 * @throws ServiceRefMoved when it points elsewhere
 */
export async function setServiceRef(
  repository: GitDirectory,
  ref: string,
  id: string,
  before?: string | null,
): Promise<void> {
  if (!serviceRef.test(ref) || !isObjectId(id)) throw new Error(`${ref} is no ref of the service`);
  if ((await readServiceRef(repository, ref)) === id) return;
  const expected = before === undefined ? "" : ` ${before ?? "0".repeat(id.length)}`;
  const input = ["start", `update ${ref} ${id}${expected}`, "prepare", "commit", ""].join("\n");
  const options = { input, writes: true, holds: "pushing" } as const;
  try {
    await runGit(repository.gitDir, ["update-ref", "--stdin"], options);
  } catch (error) {
    if (before === undefined) throw error;
    const now = await readServiceRef(repository, ref);
    if (now === id) return;
    if (now === before) throw error;
    throw new ServiceRefMoved(`${ref} points to ${now}`);
  }
}

/** Points one of the service's own refs to an object where there is none of the name: what is there is newer. */
export async function makeServiceRef(
  repository: GitDirectory,
  ref: string,
  id: string,
): Promise<void> {
  await setServiceRef(repository, ref, id, null).catch((error: unknown) => {
    if (!(error instanceof ServiceRefMoved)) throw error;
  });
}

/** Deletes refs of the service's own, all or none, wherever they point; those that are not there are left out. */
export async function dropServiceRefs(
  repository: GitDirectory,
  refs: readonly string[],
): Promise<void> {
  const there: string[] = [];
  for (const ref of refs) {
    if (!serviceRef.test(ref)) throw new Error(`${ref} is no ref of the service`);
    if ((await readServiceRef(repository, ref)) !== null) there.push(ref);
  }
  if (there.length === 0) return;
  const input = ["start", ...there.map((ref) => `delete ${ref}`), "prepare", "commit", ""];
  const options = { input: input.join("\n"), writes: true, holds: "pushing" } as const;
  await runGit(repository.gitDir, ["update-ref", "--stdin"], options);
}
