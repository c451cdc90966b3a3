import { LRUCache } from "lru-cache";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { tagPrefix } from "../../events/repository/repository.ts";
import type { Repository } from "../../git/repository.ts";
import type { VariableSources } from "./predefined.ts";

/** The first that a commit has is the pipeline file of the project. */
export const pipelineFileNames = [".forge-ci.yaml", "gitflic-ci.yaml"] as const;

/** By commit, which never changes: root directories of any size are read once for all jobs. */
const configPaths = new LRUCache<string, string>({ max: 10_000 });

/** What the predefined variables of a pipeline say of its commit. @param repository undefined when it is gone */
export async function commitSource(
  repository: Repository | undefined,
  { commitId, ref, isTag }: Pick<PipelineOrigin, "commitId" | "ref" | "isTag">,
): Promise<Pick<VariableSources, "commit" | "configPath" | "tagMessage">> {
  const [first] = pipelineFileNames;
  if (repository === undefined) {
    return { commit: undefined, configPath: first, tagMessage: undefined };
  }
  const { objects } = repository;
  const [commit, configPath, tagMessage] = await Promise.all([
    objects.commit(commitId),
    configPaths.get(commitId) ?? configPathOf(repository, commitId),
    isTag ? messageOfTag(repository, ref) : undefined,
  ]);
  return { commit, configPath, tagMessage };
}

async function configPathOf({ objects }: Repository, commitId: string): Promise<string> {
  const [first] = pipelineFileNames;
  const entry = await objects.entry(commitId, []);
  const root = entry && (await objects.tree(entry.id));
  if (root === undefined) return first;
  const names = new Set(root.map(({ name }) => name));
  const configPath = pipelineFileNames.find((name) => names.has(name)) ?? first;
  configPaths.set(commitId, configPath);
  return configPath;
}

/** Of the tag as it is now; empty for one that is no object of its own. */
async function messageOfTag(repository: Repository, name: string): Promise<string> {
  const ref = tagPrefix + name;
  const id = (await repository.refs([ref])).get(ref);
  return (id && (await repository.objects.tag(id))?.message) || "";
}
