import { z } from "zod";

import { branchPrefix } from "../../../events/repository/repository.ts";
import { GitFailure } from "../../../git/failure.ts";
import { writeObjects } from "../../../git/object/pack-writer.ts";
import { identLine, newCommit } from "../../../git/object/writer.ts";
import type { RefUpdate } from "../../../git/ref-update.ts";
import type { Repository } from "../../../git/repository.ts";
import { editTree, rawEntries } from "../../../git/tree-edit.ts";
import { invariant } from "../../../platform/invariant.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { holdInProject } from "../../../projections/project/repository-size.ts";
import { findRef, listRefs } from "../../../projections/repository/git-ref.ts";
import { accountIdent } from "../../../projections/user/commit-author.ts";
import { mustBeAllowed } from "../../../services/git/ref-change.ts";
import { mustReadCommit } from "../../access/repository-access.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { CommitAction, carryOut, contentLengthMax, type FileChanges } from "./commit-action.ts";
import { CommitView, commitViews } from "./commit-view.ts";
import { changeRefsFor, mustFindRef, NewBranchName, type Writing } from "./ref-change.ts";
import { mustFindCommit } from "./revision.ts";

const actionsMax = 1_000;
const messageLengthMax = 64 * 1024;

/** @param name of the member that is the branch to be begun */
export const startBranchField = (name: string) =>
  z
    .string()
    .max(nameLengthMax)
    .nullish()
    .meta({
      description: `Makes \`${name}\` new, starting where this one stands.`,
      examples: [""],
    });

const NewCommit = z
  .object({
    branch: NewBranchName.meta({ examples: ["main"] }),
    message: z
      .string()
      .max(messageLengthMax)
      .refine((text) => text.trim() !== "", "It is empty."),
    actions: z.array(CommitAction).min(1).max(actionsMax),
    startBranch: startBranchField("branch"),
  })
  .meta({ id: "NewCommit" });

const createCommit = route({
  method: "post",
  path: "/project/{ownerAlias}/{projectAlias}/commit",
  operationId: "createCommit",
  summary: "Commit changes of several files at once",
  description:
    "All of the actions or none, in their order. A branch that moves on meanwhile is no matter, unless the same files changed: 409. In an empty repository any branch can be begun.",
  tag: "Commits",
  scope: "PROJECT_WRITE",
  access: "project:DEVELOPER",
  bodyBytesMax: contentLengthMax,
  body: NewCommit,
  reply: CommitView,
  async handle({ body, request }, deps) {
    const ref = branchPrefix + body.branch;
    const first: { basis?: Basis } = {};
    const plan = async (repository: Repository): Promise<readonly RefUpdate[]> => {
      const basis = await basisOf(body, request.project, deps);
      const { before, parentId } = basis;
      // Checked before the work, with the branch as it will be: moved forward, or new.
      const wish = { ref, before, after: before ?? parentId ?? "new" };
      await mustBeAllowed(deps, request, repository, [wish]);
      const files = await carryOut(repository, parentId, body.actions);
      if (first.basis) await mustTouchOthers(repository, first.basis, basis, files);
      first.basis = basis;
      const after = await inRoomFor(files, request.project, deps, () =>
        commitFiles(repository, { ...files, parentId, ...body }, request, deps),
      );
      return [{ ref, before, after }];
    };
    const { refs } = await changeRefsFor(request, deps, { plan, retries: true });
    return commitView(refs.get(ref), request, deps);
  },
});

export const commitChangeRoutes: readonly Route[] = [createCommit];

/** The commit that a change of a ref came to. */
export async function commitView(id: string | null | undefined, { project }: Writing, deps: Deps) {
  const { commit } = await mustFindCommit(deps, project, id ?? "");
  const [view] = await commitViews(deps, project.id, [commit]);
  invariant(view !== undefined, "one commit makes one view");
  return view;
}

/** What a commit is put on: null where there is nothing. */
type Basis = Readonly<{ before: string | null; parentId: string | null }>;

export async function basisOf(
  { branch, startBranch }: Readonly<{ branch: string; startBranch?: string | null | undefined }>,
  { id }: Writing["project"],
  { db }: Deps,
): Promise<Basis> {
  const head = (await findRef(db, id, "branch", branch))?.object_id ?? null;
  if (startBranch && startBranch !== branch) {
    const start = await mustFindRef(db, id, "branch", startBranch);
    if (head === null) return { before: null, parentId: start.object_id };
    throw new Refusal("unprocessable", "branch.exists", `There is a branch ${branch} already.`);
  }
  if (head !== null) return { before: head, parentId: head };
  const { total } = await listRefs(db, id, "branch", { size: 1, offset: 0 });
  if (total === 0) return { before: null, parentId: null };
  const message = "There is no such branch; with startBranch it can be begun.";
  throw new Refusal("not_found", "branch.not_found", message);
}

/** @throws Refusal 422 `project.full`: who may not push so much may not commit it here either */
async function inRoomFor<Result>(
  { blobs }: FileChanges,
  project: Writing["project"],
  deps: Deps,
  run: () => Promise<Result>,
): Promise<Result> {
  const bytes = blobs.reduce((sum, { data }) => sum + data.length, 0);
  const room = await holdInProject(deps)(project, bytes).catch((error: unknown) => {
    if (!(error instanceof Refusal && error.code === "project.full")) throw error;
    const message = "The files are more than the project may still take.";
    throw new Refusal("unprocessable", error.code, message);
  });
  try {
    return await run();
  } finally {
    await room.release();
  }
}

/** @throws Refusal 409 when what is changed here was changed by who was faster */
async function mustTouchOthers(
  repository: Repository,
  was: Basis,
  is: Basis,
  { changes }: FileChanges,
): Promise<void> {
  const at = (commitId: string | null, path: string) =>
    commitId === null ? undefined : repository.objects.entry(commitId, path.split("/"));
  const files: string[] = [];
  for (const path of changes.keys()) {
    const [old, now] = [await at(was.parentId, path), await at(is.parentId, path)];
    if (old?.id !== now?.id || old?.kind !== now?.kind) files.push(path);
  }
  if (files.length === 0) return;
  const message = "A concurrent commit changed the same files.";
  throw new Refusal("conflict", "commit.files_changed", message, { extra: { files } });
}

type Making = FileChanges & Readonly<{ parentId: string | null; message: string }>;

async function commitFiles(
  repository: Repository,
  { changes, blobs, parentId, message }: Making,
  { userId }: Writing,
  { db, now }: Deps,
): Promise<string> {
  const { objects } = repository;
  const parent = parentId === null ? undefined : await mustReadCommit(repository, parentId);
  const read = async (id: string) => {
    const data = await objects.treeData(id);
    return data && rawEntries(data);
  };
  const tree = await editTree(read, parent?.treeId ?? null, changes);
  if (tree.id === parent?.treeId) throw nothingChanged();
  const signature = identLine(await accountIdent(db, userId), now());
  const commit = newCommit({
    treeId: tree.id,
    parentIds: parent === undefined ? [] : [parent.id],
    author: signature,
    committer: signature,
    message,
  });
  await writeObjects(repository, [...blobs, ...tree.trees, commit]).catch(refusedByGit);
  return commit.id;
}

export function nothingChanged(): Refusal {
  const message = "The commit would change nothing.";
  return new Refusal("unprocessable", "commit.empty", message);
}

/** Git checks what comes in by REST as it does at a push: for what would harm who clones it. */
function refusedByGit(error: unknown): never {
  if (!(error instanceof GitFailure) || error.exitCode === null) throw error;
  const why = /[Oo]bject [0-9a-f]{40,64}: (\w+): ([^\n]*)/.exec(error.message);
  if (why === null) throw error;
  const message = `Git refuses what the files hold: ${why[1]}: ${why[2]}.`;
  throw new Refusal("unprocessable", "commit.object_refused", message);
}
