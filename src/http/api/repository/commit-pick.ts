import { z } from "zod";

import { branchPrefix } from "../../../events/repository/repository.ts";
import { emptyTree, mergeTrees } from "../../../git/merge-tree.ts";
import { type Commit, subjectOf } from "../../../git/object/object.ts";
import { writeObjects } from "../../../git/object/pack-writer.ts";
import { identLine, newCommit, sameIdentLine } from "../../../git/object/writer.ts";
import type { Repository } from "../../../git/repository.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { accountIdent } from "../../../projections/user/commit-author.ts";
import { mustBeAllowed } from "../../../services/git/ref-change.ts";
import { mustReadCommit } from "../../access/repository-access.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { basisOf, commitView, nothingChanged, startBranchField } from "./commit-change.ts";
import { CommitView } from "./commit-view.ts";
import { changeRefsFor, mustFindRef, NewBranchName, type Writing } from "./ref-change.ts";
import { mustFindCommit } from "./revision.ts";

const isNewBranchName = (name: string): boolean => NewBranchName.safeParse(name).success;

const picking = {
  method: "post",
  tag: "Commits",
  scope: "PROJECT_WRITE",
  access: "project:DEVELOPER",
  body: z
    .object({
      branchName: z
        .string()
        .min(1)
        .max(nameLengthMax)
        .meta({ description: "It gets the new commit." }),
      startBranch: startBranchField("branchName"),
    })
    .refine(({ branchName, startBranch }) => !startBranch || isNewBranchName(branchName), {
      path: ["branchName"],
      message: "It is no name for a branch.",
    })
    .meta({ id: "CommitPick" }),
  reply: CommitView,
} as const;

const cherryPick = route({
  ...picking,
  path: "/project/{ownerAlias}/{projectAlias}/commit/{hash}/cherry-pick",
  operationId: "cherryPickCommit",
  summary: "Do on a branch what a commit did on another",
  description:
    "Its author stays the author. Of a merge, what it brought to the branch it was made on. A conflict is 409 with the files.",
  handle: async ({ params, body, request }, deps) =>
    pick(params.hash, body, request, deps, {
      from: ({ parent, commit }) => ({ base: parent, theirs: commit.treeId }),
      author: ({ author }) => sameIdentLine(author),
      message: pickMessage,
    }),
});

const revert = route({
  ...picking,
  path: "/project/{ownerAlias}/{projectAlias}/commit/{hash}/revert",
  operationId: "revertCommit",
  summary: "Undo on a branch what a commit did",
  description:
    "Of a merge, what it brought to the branch it was made on. A conflict is 409 with the files.",
  handle: async ({ params, body, request }, deps) =>
    pick(params.hash, body, request, deps, {
      from: ({ parent, commit }) => ({ base: commit.treeId, theirs: parent }),
      author: () => undefined,
      message: revertMessage,
    }),
});

export const commitPickRoutes: readonly Route[] = [cherryPick, revert];

/** What is done with the difference between a commit and its first parent. */
type Way = Readonly<{
  /** @param parent tree of the first parent, the empty one of a commit without */
  from: (commit: Readonly<{ commit: Commit; parent: string }>) => Readonly<{
    base: string;
    theirs: string;
  }>;
  /** The caller when undefined. */
  author: (commit: Commit) => string | undefined;
  message: (commit: Commit) => string;
}>;

type Place = Readonly<{ branchName: string; startBranch?: string | null | undefined }>;

async function pick(hash: string, place: Place, request: Writing, deps: Deps, way: Way) {
  const { branchName: branch, startBranch } = place;
  const ref = branchPrefix + branch;
  const { commit } = await mustFindCommit(deps, request.project, hash);
  const plan = async (repository: Repository) => {
    const basis = await basisOf({ branch, startBranch }, request.project, deps);
    const { before } = basis;
    // In a project without branches there is nothing to do it on.
    const parentId =
      basis.parentId ??
      (await mustFindRef(deps.db, request.project.id, "branch", branch)).object_id;
    await mustBeAllowed(deps, request, repository, [{ ref, before, after: before ?? parentId }]);
    const treeId = await mergedTree(
      repository,
      way.from(await sidesOf(repository, commit)),
      parentId,
    );
    const committer = identLine(await accountIdent(deps.db, request.userId), deps.now());
    const made = newCommit({
      treeId,
      parentIds: [parentId],
      author: way.author(commit) ?? committer,
      committer,
      message: way.message(commit),
    });
    // Git takes the empty tree for known, so nothing else may have written it.
    await writeObjects(repository, treeId === emptyTree.id ? [emptyTree, made] : [made]);
    return [{ ref, before, after: made.id }];
  };
  const { refs } = await changeRefsFor(request, deps, { plan, retries: true });
  return commitView(refs.get(ref), request, deps);
}

async function sidesOf(repository: Repository, commit: Commit) {
  const [first] = commit.parentIds;
  const parent =
    first === undefined ? emptyTree.id : (await mustReadCommit(repository, first)).treeId;
  return { commit, parent };
}

/** @throws Refusal 409 `commit.conflict`, 422 `commit.empty` */
async function mergedTree(
  repository: Repository,
  sides: Readonly<{ base: string; theirs: string }>,
  onto: string,
): Promise<string> {
  const { treeId: ours } = await mustReadCommit(repository, onto);
  const merged = await mergeTrees(repository, { ...sides, ours });
  if (merged.conflicts !== undefined) {
    const message =
      "The commit conflicts with changes of the branch. Resolve it in a clone and push.";
    const extra = { files: merged.conflicts, filesCount: merged.conflictsCount };
    throw new Refusal("conflict", "commit.conflict", message, { extra });
  }
  if (merged.treeId === ours) throw nothingChanged();
  return merged.treeId;
}

/** As git-cherry-pick(1) writes it with `-x`. @throws Refusal 422 `commit.message_too_long` */
function pickMessage({ id, message, isWhole }: Commit): string {
  if (isWhole) return `${message.trimEnd()}\n\n(cherry picked from commit ${id})`;
  const refused =
    "The message of the commit is too long to be copied here. Cherry-pick it in a clone.";
  throw new Refusal("unprocessable", "commit.message_too_long", refused);
}

/** As git-revert(1) writes it. */
function revertMessage({ id, message, parentIds }: Commit): string {
  const [first, second] = parentIds;
  const what =
    second === undefined
      ? `This reverts commit ${id}.`
      : `This reverts commit ${id}, reversing\nchanges made to ${first}.`;
  return `Revert "${subjectOf(message)}"\n\n${what}`;
}
