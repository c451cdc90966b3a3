import { z } from "zod";

import { tagPrefix } from "../../../events/repository/repository.ts";
import { subjectOf } from "../../../git/object/object.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import type { GitRefRow } from "../../../projections/repository/ref-rows.ts";
import { refView } from "../../../projections/repository/ref-view.ts";
import { findCommitAuthors } from "../../../projections/user/commit-author.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { toView } from "../../core/view.ts";
import { IdentView, identView } from "./commit-view.ts";
import { refsAsOf } from "./revision.ts";

const section = "Tags";

export const TagView = z
  .object({
    name: z.string(),
    fullName: z.string(),
    objectId: z.string().meta({ description: "Equals the commit's hash for a lightweight tag." }),
    shortMessage: z.string(),
    fullMessage: z.string().meta({ description: "Empty for a lightweight tag." }),
    commitId: z.string().nullable().meta({ description: "Null for a tag of a tree or a blob." }),
    personIdent: IdentView.nullable().meta({
      description: "Who made the tag; of a lightweight one, who made its commit.",
    }),
    lightWeight: z.boolean(),
  })
  .meta({ id: "Tag" });

const reading = {
  method: "get",
  tag: section,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  reply: TagView,
  asOf: refsAsOf,
} as const;

const getTags = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/tag",
  operationId: "listTags",
  summary: "List the tags",
  list: "tagList",
  async handle({ page, request: { project } }, deps) {
    const refs = await refView(deps.db, project.id, deps.past);
    const { rows, total } = await refs.list("tag", { size: page.limit, offset: page.offset });
    return { items: await tagViews(deps, project.id, rows), totalElements: total };
  },
});

const getTag = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/tag/{tagName}",
  operationId: "getTag",
  summary: "Get a tag",
  async handle({ params, request: { project } }, deps) {
    return oneTag(deps, project.id, params.tagName);
  },
});

export async function oneTag(deps: Deps, projectId: string, name: string) {
  const row = await findRef(deps.db, projectId, "tag", name);
  const [view] = row === undefined ? [] : await tagViews(deps, projectId, [row]);
  if (view !== undefined) return view;
  throw new Refusal("not_found", "tag.not_found", "There is no such tag.");
}

async function tagViews(
  { db, git }: Deps,
  projectId: string,
  rows: readonly GitRefRow[],
): Promise<readonly z.input<typeof TagView>[]> {
  const repository = await git.find(projectId);
  const found = await Promise.all(
    rows.map(async (row) => {
      const tag = row.light_weight ? undefined : await repository?.objects.tag(row.object_id);
      const commit = await repository?.objects.commit(row.commit_id ?? "");
      const person = tag === undefined ? commit?.committer : tag.tagger;
      return { row, message: (tag ?? commit)?.message ?? "", person: person ?? null };
    }),
  );
  const emails = found.flatMap(({ person }) => (person === null ? [] : [person.email]));
  const authors = await findCommitAuthors(db, emails);
  return found.map(({ row, message, person }) =>
    toView(TagView, row, {
      fullName: tagPrefix + row.name,
      shortMessage: subjectOf(message),
      fullMessage: row.light_weight ? "" : message,
      personIdent: person === null ? null : identView(person, authors),
    }),
  );
}

export const tagRoutes: readonly Route[] = [getTag, getTags];
