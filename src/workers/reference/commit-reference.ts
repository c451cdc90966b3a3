import { z } from "zod";

import { handle } from "../../commands/core/handle.ts";
import { issue } from "../../commands/issue/issue.ts";
import { commitReference } from "../../commands/reference/commit-reference.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { ObjectId, ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import type { ReferringCommit } from "../../events/reference/commit-reference.ts";
import {
  type RepositoryEvent,
  repositoryEvents,
  repositoryStream,
} from "../../events/repository/repository.ts";
import { commitsBetween } from "../../git/push/commits.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { clipText, storableText } from "../../platform/storable-text.ts";
import { ownIssue, referencesIn } from "../../platform/text-reference.ts";
import { findIssue } from "../../projections/issue/list.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { causedAs, causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "commit-reference";
/** Of one change of a branch, the newest commits are searched. */
const commitsMax = 1_000;
const titleMax = 255;
/** One change of a branch closes at most this many issues. */
const closedMax = 200;

/** Searches what a change of a branch brought for references, and closes issues. */
export const commitReferenceReactor: Reactor = {
  name: "commit-reference",
  types: new Set(["BranchCreated", "BranchUpdated"]),
  react: async ({ stream, revision }) => {
    const projectId = idInStream(stream);
    const data = { projectId, revision: Number(revision) };
    return [{ queue, id: `${projectId}-${revision}`, data }];
  },
};

export const commitReferenceWorker = defineWorker({
  queue,
  concurrency: 4,
  payload: z.object({ projectId: ProjectId, revision: z.int().nonnegative() }),
  run: ({ projectId, revision }, deps) => searchChange(deps, projectId, revision),
});

type SearchDeps = Pick<WorkerDeps, "store" | "db" | "git" | "visible" | "now" | "publicUrl">;

/** @param revision of the change in the repository's stream; repeated, it records and closes nothing */
export async function searchChange(
  deps: SearchDeps,
  projectId: ProjectId,
  revision: number,
): Promise<void> {
  const change = await changeAt(deps, projectId, revision);
  if (change === undefined) return;
  await deps.visible(change.position);
  const project = await findProjectById(deps.db, projectId);
  const repository = await deps.git.find(projectId);
  if (project === undefined || repository === undefined) return;
  const { after, before } = await endsOf(deps, project, change);
  const commits = await commitsBetween(repository, after, before, commitsMax);
  const referring = commits.flatMap(({ id, message }) => referringCommit(id, message, deps));
  if (referring.length === 0) return;
  const command = {
    type: "RecordCommitReferences",
    projectId,
    commits: referring,
    at: deps.now().toISOString(),
  } as const;
  const id = deterministicId("commit reference", change.id);
  await handle(deps.store, commitReference, {
    id,
    command,
    metadata: causedBy(change, id, deps.now()),
  });
  if (change.data.branch === project.default_branch) {
    await closeIssues(deps, project, change, referring);
  }
}

type Change = Recorded<
  Extract<RepositoryEvent, Readonly<{ type: "BranchCreated" | "BranchUpdated" }>>
>;

async function changeAt(
  { store }: SearchDeps,
  projectId: string,
  revision: number,
): Promise<Change | undefined> {
  for await (const recorded of store.readStream(repositoryStream(projectId), BigInt(revision))) {
    const event = decode(repositoryEvents, recorded);
    const isChange = event.type === "BranchCreated" || event.type === "BranchUpdated";
    // The union of recorded events does not narrow by itself.
    return isChange ? (event as Change) : undefined;
  }
  return undefined;
}

/** A new branch brings what the default branch does not have. */
async function endsOf({ db }: SearchDeps, project: ProjectRow, { data }: Change) {
  if ("after" in data) return { after: data.after, before: [data.before] };
  const { default_branch, id } = project;
  const base =
    data.branch === default_branch ? undefined : await findRef(db, id, "branch", default_branch);
  return { after: data.commitId, before: base === undefined ? [] : [base.object_id] };
}

function referringCommit(
  id: string,
  message: string,
  { publicUrl }: Pick<SearchDeps, "publicUrl">,
): readonly ReferringCommit[] {
  const references = referencesIn(message, publicUrl);
  if (references.length === 0) return [];
  const title = storableText(clipText(message.split("\n", 1)[0] ?? "", titleMax));
  return [{ commitId: ObjectId.parse(id), title, references }];
}

/**
 * Closes the issues of this very project that the commits name after a closing word. Commits of a mirror
 * name issues of where they come from, and close none.
 */
async function closeIssues(
  deps: SearchDeps,
  project: ProjectRow,
  change: Change,
  commits: readonly ReferringCommit[],
): Promise<void> {
  const by = change.data.changedById;
  // Who pushed may have lost the right since, or been banned.
  if (by === null || !mayClose(await actingRole(deps.db, project, by))) return;
  for (const [localId, commitId] of closedBy(commits, project)) {
    const row = await findIssue(deps.db, project.id, localId);
    if (row === undefined) continue;
    const at = deps.now().toISOString();
    const command = {
      type: "CloseIssueByCommit",
      commitId,
      projectId: project.id,
      by,
      at,
    } as const;
    const commandId = deterministicId("close issue", change.id, row.id);
    const metadata = causedAs(change, commandId, deps.now());
    await handle(deps.store, issue, { id: row.id, command, metadata });
  }
}

const mayClose = (role: Awaited<ReturnType<typeof actingRole>>): boolean =>
  role !== undefined && role !== "GUEST";

/** Issue number → the newest commit that closes it. */
function closedBy(
  commits: readonly ReferringCommit[],
  { owner_alias, alias }: ProjectRow,
): ReadonlyMap<number, ObjectId> {
  const path = `${owner_alias}/${alias}`;
  const closed = new Map<number, ObjectId>();
  for (const { commitId, references } of commits) {
    for (const { target, closes } of references) {
      const localId = ownIssue(target, path);
      if (closes && localId !== undefined && !closed.has(localId) && closed.size < closedMax) {
        closed.set(localId, commitId);
      }
    }
  }
  return closed;
}
