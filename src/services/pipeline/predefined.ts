import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { nullObjectId } from "../../git/name.ts";
import type { Commit } from "../../git/object/object.ts";
import { slugOf } from "../../pipeline-file/slug.ts";
import type { Addresses } from "../../projections/project/address.ts";
import type { ProjectRow } from "../../projections/project/project.ts";

/** What the predefined variables of a pipeline are made of, before it has a number. */
export type VariableSources = Readonly<{
  project: Pick<
    ProjectRow,
    | "id"
    | "alias"
    | "owner_alias"
    | "owner_id"
    | "title"
    | "description"
    | "default_branch"
    | "is_private"
  >;
  origin: PipelineOrigin;
  commit: Pick<Commit, "message" | "author"> | undefined;
  /** Of the pipeline file of the project. */
  configPath: string;
  /** Of an annotated tag; undefined for a branch. */
  tagMessage: string | undefined;
  isProtected: boolean;
  /** See mergeRequestVariables, parentVariables and userVariables. */
  more: ReadonlyMap<string, string>;
  addresses: Addresses;
}>;

/** Variables that every job of a pipeline sees. Users chose some of these texts: none is expanded. */
export function predefinedVariables(sources: VariableSources): Map<string, string> {
  const { project, origin, commit, configPath, tagMessage, isProtected, addresses } = sources;
  const { publicUrl, sshHost, sshPort } = addresses;
  const { isTag, commitId, source, mergeRequest } = origin;
  const ref = mergeRequest?.sourceBranch ?? origin.ref;
  // The same for every push to a merge request, as GitLab has it.
  const beforeCommitId = mergeRequest === null ? origin.beforeCommitId : null;
  const url = new URL(publicUrl);
  const path = `${project.owner_alias}/${project.alias}`;
  const message = commit?.message ?? "";
  const [title = ""] = message.split("\n", 1);
  const all = {
    CI: "true",
    GITLAB_CI: "true",
    CI_SERVER_NAME: "Ledgerforge",
    CI_SERVER_URL: publicUrl,
    CI_SERVER_FQDN: url.host,
    CI_SERVER_HOST: url.hostname,
    CI_SERVER_PORT: url.port || (url.protocol === "https:" ? "443" : "80"),
    CI_SERVER_PROTOCOL: url.protocol.replace(":", ""),
    CI_SERVER_SHELL_SSH_HOST: sshHost,
    CI_SERVER_SHELL_SSH_PORT: String(sshPort ?? 22),
    CI_API_URL: `${publicUrl}/rest-api`,
    CI_API_V4_URL: `${publicUrl}/api/v4`,
    CI_REGISTRY: url.host,
    CI_REGISTRY_IMAGE: `${url.host}/${path.toLowerCase()}`,
    CI_PROJECT_ID: project.id,
    CI_PROJECT_NAME: project.alias,
    CI_PROJECT_TITLE: project.title,
    CI_PROJECT_DESCRIPTION: project.description ?? "",
    CI_PROJECT_NAMESPACE: project.owner_alias,
    CI_PROJECT_NAMESPACE_ID: project.owner_id,
    CI_PROJECT_NAMESPACE_SLUG: slugOf(project.owner_alias),
    CI_PROJECT_ROOT_NAMESPACE: project.owner_alias,
    CI_PROJECT_PATH: path,
    CI_PROJECT_PATH_SLUG: slugOf(path),
    CI_PROJECT_URL: `${publicUrl}/project/${path}`,
    CI_PROJECT_VISIBILITY: project.is_private ? "private" : "public",
    CI_DEFAULT_BRANCH: project.default_branch,
    CI_CONFIG_PATH: configPath,
    CI_COMMIT_SHA: commitId,
    CI_COMMIT_SHORT_SHA: commitId.slice(0, 8),
    CI_COMMIT_BEFORE_SHA: beforeCommitId ?? nullObjectId(commitId),
    CI_COMMIT_REF_NAME: ref,
    CI_COMMIT_REF_SLUG: slugOf(ref),
    CI_COMMIT_REF_PROTECTED: String(isProtected),
    ...(isTag ? { CI_COMMIT_TAG: ref, CI_COMMIT_TAG_MESSAGE: tagMessage ?? "" } : {}),
    ...(!isTag && mergeRequest === null ? { CI_COMMIT_BRANCH: ref } : {}),
    CI_COMMIT_MESSAGE: message,
    CI_COMMIT_TITLE: title,
    CI_COMMIT_DESCRIPTION: message.slice(title.length + 1).trim(),
    CI_COMMIT_AUTHOR: commit === undefined ? "" : `${commit.author.name} <${commit.author.email}>`,
    CI_COMMIT_TIMESTAMP: commit?.author.when.toISOString() ?? "",
    CI_PIPELINE_SOURCE: source.toLowerCase(),
    ...(source === "TRIGGER" && { CI_PIPELINE_TRIGGERED: "true" }),
    ...(mergeRequest !== null && {
      CI_MERGE_REQUEST_LOCAL_ID: String(mergeRequest.localId),
      CI_MERGE_REQUEST_IID: String(mergeRequest.localId),
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: mergeRequest.sourceBranch,
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: mergeRequest.targetBranch,
    }),
  };
  return new Map([...Object.entries(all), ...sources.more]);
}
