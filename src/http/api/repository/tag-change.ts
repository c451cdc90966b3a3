import { z } from "zod";

import { tagPrefix } from "../../../events/repository/repository.ts";
import { TagName } from "../../../git/name.ts";
import { writeObjects } from "../../../git/object/pack-writer.ts";
import { newTag } from "../../../git/object/writer.ts";
import type { Repository } from "../../../git/repository.ts";
import { accountIdent } from "../../../projections/user/commit-author.ts";
import { changeRefs } from "../../../services/git/ref-change.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { fieldRefusal, nameLengthMax } from "../../core/schema.ts";
import { changeRefsFor, mustFindRef, type Writing } from "./ref-change.ts";
import { mustFindCommit, revisionText } from "./revision.ts";
import { oneTag, TagView } from "./tag.ts";

const section = "Tags";

/** More is no description of a release any more; it is read back whole with every list of tags. */
const messageLengthMax = 64 * 1024;

const NewTag = z
  .object({
    tagName: TagName.meta({
      description: "As git-check-ref-format(1) demands of a tag.",
      examples: ["v1.0"],
    }),
    branchName: z.string().max(nameLengthMax).nullish().meta({
      description: "Where it stands is tagged; the default branch when neither is given.",
    }),
    commitId: z
      .string()
      .max(nameLengthMax)
      .nullish()
      .meta({
        description: `With a branch, a commit that this branch contains. ${revisionText}`,
        examples: [""],
      }),
    message: z
      .string()
      .max(messageLengthMax)
      .nullish()
      .meta({ description: "Makes an annotated tag of it, else it is a lightweight one." }),
  })
  .meta({ id: "NewTag" });

const writing = { tag: section, scope: "PROJECT_WRITE", access: "project:DEVELOPER" } as const;

const createTag = route({
  ...writing,
  method: "post",
  path: "/project/{ownerAlias}/{projectAlias}/tag/create",
  alsoAt: ["/project/{ownerAlias}/{projectAlias}/tag"],
  operationId: "createTag",
  summary: "Create a tag on a branch or a commit",
  body: NewTag,
  reply: TagView,
  async handle({ body, request }, deps) {
    await request.executeProcess(() => makeTag(body, request, deps));
    return oneTag(deps, request.project.id, body.tagName);
  },
});

const deleteTag = route({
  ...writing,
  method: "delete",
  path: "/project/{ownerAlias}/{projectAlias}/tag/{tagName}",
  operationId: "deleteTag",
  summary: "Delete a tag",
  reply: "empty",
  errors: [409],
  async handle({ params, request }, deps) {
    const plan = async () => {
      const row = await mustFindRef(deps.db, request.project.id, "tag", params.tagName);
      return [{ ref: row.ref, before: row.object_id, after: null }];
    };
    await changeRefsFor(request, deps, { plan });
  },
});

export const tagChangeRoutes: readonly Route[] = [createTag, deleteTag];

export type NewTag = z.output<typeof NewTag>;

export type CreatedTag = Readonly<{
  commitId: string;
  /** Log position that shows it; the caller waits for it, or for a later one of its own. */
  position: bigint | undefined;
}>;

/** @throws Refusal 403 `tag.protected`, 404 for an unknown target, 422 `tag.exists` */
export async function makeTag(tag: NewTag, request: Writing, deps: Deps): Promise<CreatedTag> {
  const ref = tagPrefix + tag.tagName;
  const commitId = await commitToTag(tag, request, deps);
  const plan = async (repository: Repository) => {
    const after = await tagObject(repository, { ...tag, commitId }, request, deps);
    return [{ ref, before: null, after }];
  };
  const { project, role } = request;
  const metadata = await request.metadata();
  const { position } = await changeRefs(deps, { project, role, metadata, plan });
  return { commitId, position };
}

async function commitToTag(
  { branchName, commitId }: NewTag,
  { project }: Writing,
  deps: Deps,
): Promise<string> {
  const name = branchName || (commitId ? undefined : project.default_branch);
  const head = name && (await mustFindRef(deps.db, project.id, "branch", name)).object_id;
  if (!commitId && head) return head;
  const { repository, commit } = await mustFindCommit(deps, project, commitId ?? "");
  if (head && !(await repository.isAncestor(commit.id, head))) {
    const message = "The branch does not contain the commit.";
    throw fieldRefusal("commitId", "tag.commit_not_on_branch", message);
  }
  return commit.id;
}

/** The commit itself for a lightweight tag. */
async function tagObject(
  repository: Repository,
  { tagName, commitId, message }: NewTag & Readonly<{ commitId: string }>,
  { userId }: Writing,
  { db, now }: Deps,
): Promise<string> {
  if (!message?.trim()) return commitId;
  const tagger = await accountIdent(db, userId);
  const tag = newTag({ name: tagName, commitId, tagger, at: now(), message });
  await writeObjects(repository, [tag]);
  return tag.id;
}
