import { decode } from "../../events/core/decode.ts";
import type { EventOf, Recorded } from "../../events/core/event.ts";
import { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  branchPrefix,
  type RepositoryEvent,
  repositoryEvents,
  repositoryStream,
} from "../../events/repository/repository.ts";
import type { WebhookTopic } from "../../events/webhook/webhook.ts";
import { nullObjectId } from "../../git/name.ts";
import { type PushedCommit, type PushSummary, summarisePush } from "../../git/push/summary.ts";
import type { Repository } from "../../git/repository.ts";
import { unreachable } from "../../platform/invariant.ts";
import { clipJson, jsonBytes } from "../../platform/storable-text.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { refAfterPush } from "../../projections/repository/ref-history.ts";
import { findUserById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { PayloadBuilder } from "./payload.ts";

const commitsMax = 20;
/**
 * Bytes as JSON, where a control character takes six. Together the limits keep a payload below 400 KiB,
 * and its sealed form well below what a store takes as one event (1 MiB).
 */
const filesMax = 1_000;
const filesBytesMax = 128 * 1024;
const messageBytesMax = 8 * 1024;
const nameBytesMax = 1_024;

/** Notes have no webhook event. */
const { NotesChanged: _, ...deliveredEvents } = repositoryEvents;
type DeliveredEvent = EventOf<typeof deliveredEvents>;

/** BRANCH_* and TAG_*, out of what a push did to the refs of a repository. */
export const repositoryPayload: PayloadBuilder = {
  types: new Set(Object.keys(deliveredEvents)),
  streams: async (projectId) => [repositoryStream(projectId)],
  async build(recorded, deps) {
    const event = decode(deliveredEvents, recorded);
    return {
      projectId: ProjectId.parse(idInStream(recorded.stream)),
      topic: topics[event.type],
      fields: () => fieldsOf(event, deps),
    };
  },
};

/** A moved tag has its own topic: receivers that act on new tags alone must not take it for one. */
const topics: Readonly<Record<DeliveredEvent["type"], WebhookTopic>> = {
  BranchCreated: "BRANCH_CREATE",
  BranchUpdated: "BRANCH_UPDATE",
  BranchDeleted: "BRANCH_DELETE",
  TagCreated: "TAG_CREATE",
  TagUpdated: "TAG_UPDATE",
  TagDeleted: "TAG_DELETE",
};

async function fieldsOf(event: Recorded<DeliveredEvent>, deps: WorkerDeps) {
  const user = await userOf(event, deps);
  const repository = await deps.git.find(idInStream(event.stream));
  switch (event.type) {
    case "BranchCreated":
    case "BranchUpdated":
    case "BranchDeleted":
      return {
        push: await pushOf(event, repository, deps),
        branch: { name: event.data.branch },
        user,
      };
    case "TagCreated":
      return { tag: await tagOf(event.data, repository), user };
    case "TagUpdated": {
      const tag = await tagOf(event.data, repository);
      return { tag: { ...tag, before: event.data.before, after: event.data.objectId }, user };
    }
    case "TagDeleted":
      return { tag: await deletedTagOf(event.data, repository), user };
    default:
      return unreachable(event);
  }
}

type BranchEvent = Extract<
  DeliveredEvent,
  { type: "BranchCreated" | "BranchUpdated" | "BranchDeleted" }
>;

async function pushOf(
  event: Recorded<BranchEvent>,
  repository: Repository | undefined,
  deps: WorkerDeps,
) {
  const [before, after] = endsOf(event);
  const except = event.type === "BranchCreated" ? await startOf(event, deps) : [before];
  const summary: PushSummary =
    repository === undefined || event.type === "BranchDeleted"
      ? { count: 0, commits: [] }
      : await summarisePush(repository, after, except, commitsMax);
  return {
    ref: `refs/heads/${event.data.branch}`,
    before,
    after,
    total_commits_count: summary.count,
    commits: commitViews(summary.commits),
  };
}

/** Zeros mean that there is no branch. */
function endsOf({ type, data }: BranchEvent): readonly [before: string, after: string] {
  switch (type) {
    case "BranchCreated":
      return [nullObjectId(data.commitId), data.commitId];
    case "BranchUpdated":
      return [data.before, data.after];
    case "BranchDeleted":
      return [data.commitId, nullObjectId(data.commitId)];
    default:
      return unreachable(type);
  }
}

/** A new branch brings what the default branch did not have then: it may have been merged since. */
async function startOf(
  event: Recorded<BranchEvent>,
  { db }: WorkerDeps,
): Promise<readonly string[]> {
  const projectId = idInStream(event.stream);
  const project = await findProjectById(db, projectId);
  if (project === undefined || project.default_branch === event.data.branch) return [];
  const ref = branchPrefix + project.default_branch;
  const head = await refAfterPush(db, projectId, ref, event);
  return head === null ? [] : [head];
}

function commitViews(commits: readonly PushedCommit[]) {
  const spent = { files: 0, bytes: 0 };
  const within = (paths: readonly string[]) =>
    paths.filter((path) => {
      spent.files += 1;
      spent.bytes += jsonBytes(path);
      return spent.files <= filesMax && spent.bytes <= filesBytesMax;
    });
  return commits.map(({ commit, files }) => ({
    id: commit.id,
    message: clipJson(commit.message, messageBytesMax),
    author_name: clipJson(commit.author.name, nameBytesMax),
    author_email: clipJson(commit.author.email, nameBytesMax),
    timestamp: commit.author.when.toISOString(),
    added: within(files.added),
    modified: within(files.modified),
    removed: within(files.removed),
  }));
}

type Tag = Pick<
  Extract<RepositoryEvent, { type: "TagCreated" }>["data"],
  "tag" | "objectId" | "commitId" | "lightWeight"
>;

async function tagOf(
  { tag: name, objectId, commitId, lightWeight }: Tag,
  repository: Repository | undefined,
) {
  const object = lightWeight ? undefined : await repository?.objects.tag(objectId);
  return {
    name,
    commit_id: commitId ?? object?.targetId ?? null,
    message: object === undefined ? null : clipJson(object.message, messageBytesMax),
    light_weight: lightWeight,
  };
}

/** What the tag pointed to stays readable for a while after it is gone. */
async function deletedTagOf(
  { tag, objectId }: Extract<RepositoryEvent, { type: "TagDeleted" }>["data"],
  repository: Repository | undefined,
) {
  const lightWeight = (await repository?.objects.info(objectId))?.type !== "tag";
  const commitId = lightWeight ? objectId : null;
  return tagOf({ tag, objectId, commitId, lightWeight }, repository);
}

/** Null when the change was found in the repository and nobody is known to have made it. */
async function userOf({ data }: RepositoryEvent, { db }: WorkerDeps) {
  const { changedById } = data;
  if (changedById === null) return null;
  const user = await findUserById(db, changedById);
  return { id: changedById, alias: user?.alias ?? null };
}
