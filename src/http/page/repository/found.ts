import { z } from "zod";

import { repositoryPath } from "../../../git/name.ts";
import type { TreeEntry } from "../../../git/object/object.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type FoundCommit, mustFindCommit } from "../../api/repository/revision.ts";
import type { Deps } from "../../core/deps.ts";
import { nameLengthMax, pathLengthMax } from "../../core/schema.ts";
import type { Names } from "../common/address.ts";
import type { Visit } from "../core/route.ts";

export const FileQuery = z.object({
  commitHash: z.string().min(1).max(nameLengthMax).default("HEAD"),
  file: z.string().max(pathLengthMax).default(""),
});

/** Pages that show what a clone holds. */
export const readable = { anonymousWhen: "pullRepoFromAnonUserIsEnabled" } as const;

export type FoundEntry = FoundCommit &
  Readonly<{ entry: TreeEntry | undefined; path: string; parts: readonly string[] }>;

/**
 * What stands at a path of a commit, for who may get files of the project.
 *
 * @throws Refusal 404
 */
export async function findEntry(
  { operations }: Visit,
  deps: Deps,
  names: Names,
  { commitHash, file }: z.output<typeof FileQuery>,
): Promise<FoundEntry> {
  const { project } = await operations.project("getBlob", names);
  const found = await mustFindCommit(deps, project, commitHash);
  const parts = repositoryPath(file);
  const entry = await found.repository.objects.entry(found.commit.id, parts);
  if (entry !== undefined) return { ...found, entry, path: parts.join("/"), parts };
  throw new Refusal("not_found", "blob.not_found", "There is no such file.");
}
