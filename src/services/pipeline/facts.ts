import { hash } from "node:crypto";

import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { mergeBase } from "../../git/history.ts";
import { isObjectId } from "../../git/name.ts";
import type { Repository } from "../../git/repository.ts";
import { runGit } from "../../git/run.ts";
import { compareTrees } from "../../git/tree-walk.ts";
import type { PipelineFacts } from "../../pipeline-file/compile.ts";
import { fileBytesMax } from "../../pipeline-file/document.ts";
import type { FileText } from "../../pipeline-file/value.ts";
import { Refusal } from "../../platform/refusal.ts";
import { findProjectByPath } from "../../projections/project/project-path.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import type { WorkerDeps } from "../core/deps.ts";

const pathsMax = 50_000;
const pathBytesMax = 8 * 1024 * 1024;

type FactsInput = Readonly<{
  repository: Repository;
  origin: PipelineOrigin;
  predefined: ReadonlyMap<string, string>;
  outer: ReadonlyMap<string, string>;
  atStart?: ReadonlyMap<string, string>;
  readArtifact?: PipelineFacts["readArtifact"];
}>;

/** What a pipeline file may query about its commit, limited to what the user behind it may read. */
export function factsOf(
  deps: Pick<WorkerDeps, "db" | "git">,
  { repository, origin, predefined, outer, atStart = new Map(), readArtifact }: FactsInput,
): PipelineFacts {
  const { commitId, ref, isTag, source } = origin;
  return {
    ref,
    isTag,
    source,
    predefined,
    outer,
    atStart,
    readFile: (path) => readFile(repository, commitId, path),
    readProjectFile: (project, at, path) => readProjectFile(deps, origin, { project, at, path }),
    ...(readArtifact && { readArtifact }),
    paths: () => pathsOf(repository, commitId),
    changedPaths: (compareTo) => changedPaths(repository, origin, compareTo),
    async hashOf(paths) {
      const entries = await Promise.all(
        paths.map((path) => repository.objects.entry(commitId, partsOf(path))),
      );
      return hash("sha1", entries.map((entry) => entry?.id ?? "").join(" "));
    },
  };
}

/** A file of a commit as text; undefined when there is none, and for links. */
export async function readFile(
  repository: Repository,
  commitId: string,
  path: string,
  bytesMax = fileBytesMax,
): Promise<FileText | undefined> {
  const entry = await repository.objects.entry(commitId, partsOf(path));
  if (entry === undefined || (entry.kind !== "file" && entry.kind !== "executable"))
    return undefined;
  const info = await repository.objects.info(entry.id);
  if (info?.type !== "blob") return undefined;
  if (info.bytes > bytesMax) return { bytesMax };
  return (await repository.objects.blob(entry.id))?.toString("utf8");
}

const partsOf = (path: string): readonly string[] => path.split("/").filter((part) => part !== "");

async function readProjectFile(
  { db, git }: Pick<WorkerDeps, "db" | "git">,
  { userId }: PipelineOrigin,
  { project: name, at, path }: Readonly<{ project: string; at: string | null; path: string }>,
): Promise<FileText | undefined> {
  const project = await findProjectByPath(db, name);
  if (project === undefined) return undefined;
  if ((await actingRole(db, project, userId)) === undefined) return undefined;
  const repository = await git.find(project.id);
  if (repository === undefined) return undefined;
  const commitId = await commitNamed(repository, at ?? project.default_branch);
  return commitId === undefined ? undefined : readFile(repository, commitId, path);
}

/** The commit of a branch, a tag, a whole name of either or a full hash. */
export async function commitNamed(
  repository: Repository,
  name: string,
): Promise<string | undefined> {
  const whole = /^refs\/(?:heads|tags)\//.test(name) ? [name] : [];
  const names = [`refs/heads/${name}`, `refs/tags/${name}`, ...whole];
  const refs = await repository.refs(names);
  const found = names.map((ref) => refs.get(ref)).find((id) => id !== undefined);
  const id = found ?? (isObjectId(name) ? name : undefined);
  return id === undefined ? undefined : repository.objects.peel(id);
}

async function pathsOf(repository: Repository, commitId: string): Promise<readonly string[]> {
  const args = ["ls-tree", "-r", "-z", "--name-only", "--end-of-options", commitId] as const;
  const { stdout } = await runGit(repository.gitDir, args, { bytesMax: pathBytesMax });
  return stdout.toString("utf8").split("\0").filter(Boolean).slice(0, pathsMax);
}

/** Undefined: there is nothing to compare with, or too much differs. */
async function changedPaths(
  repository: Repository,
  { commitId, beforeCommitId }: PipelineOrigin,
  compareTo: string | null,
): ReturnType<PipelineFacts["changedPaths"]> {
  const other = compareTo === null ? beforeCommitId : await commitNamed(repository, compareTo);
  if (other === undefined) return "no such ref";
  if (other === null) return undefined;
  const base = compareTo === null ? other : await mergeBase(repository, other, commitId);
  const [before, after] = await Promise.all(
    [base ?? other, commitId].map((id) => repository.objects.commit(id)),
  );
  if (before === undefined || after === undefined) return undefined;
  try {
    const trees = { before: before.treeId, after: after.treeId };
    return (await compareTrees(repository.objects, trees)).map(({ path }) => path);
  } catch (error) {
    if (error instanceof Refusal && error.code === "diff.too_large") return undefined;
    throw error;
  }
}
