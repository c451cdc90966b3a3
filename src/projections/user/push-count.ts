import type { Knex } from "knex";

import { pushCountEvents } from "../../events/user/push-count.ts";
import { put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

/** One row a push that counted for a user; the sums are computed at a query. */
const counts = defineTable({
  name: "push_count",
  columns: {
    project_id: "uuid",
    repository_revision: column<number>("bigint"),
    user_id: "uuid",
    extensions: column<Readonly<Record<string, number>>>("jsonb"),
  },
  key: ["project_id", "repository_revision"],
  lateIndexes: ["(user_id)"],
});

const tips = defineTable({
  name: "push_tip",
  columns: { project_id: "uuid", commit_id: "text" },
  key: ["project_id", "commit_id"],
});

type PushTipRow = RowOf<typeof tips>;

export const pushCountProjection = defineReadModel({
  name: "push_count",
  version: 3,
  tables: [counts, tips],
  events: { ...pushCountEvents, ...purgeEvents },
  effects: {
    PushCounted: ({ data }) => {
      const { projectId: project_id, repositoryRevision: repository_revision } = data;
      const { userId: user_id, extensions } = data;
      const counted = { project_id, repository_revision, extensions };
      return [
        ...(user_id === null ? [] : [put(counts, { ...counted, user_id })]),
        ...data.tips.map((commit_id) => put(tips, { project_id, commit_id })),
        ...data.replaces.map((commit_id) => remove(tips, { project_id, commit_id })),
      ];
    },
    // What people pushed stays theirs.
    ProjectPurged: purgedFrom(tips),
  },
});

/** Commits of these projects whose whole histories have been counted. */
export async function countedTips(
  db: Knex,
  projectIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db<PushTipRow>("push_tip").whereIn("project_id", projectIds);
  return new Set(rows.map(({ commit_id }) => commit_id));
}

export type PushedExtension = Readonly<{
  user_id: string;
  extension: string;
  /** Part of all the user's counts, from 0 to 1. */
  share: number;
}>;

/** The rarest of more kinds than this are left out; they are in the whole that the shares are of. */
const extensionsMax = 200;

/** What these users pushed, the most frequent first. */
export async function pushedExtensions(
  db: Knex,
  userIds: readonly string[],
): Promise<readonly PushedExtension[]> {
  const { rows } = await db.raw<{ rows: PushedExtension[] }>(
    `select user_id, extension, (counted / total)::float8 as share from (
       select user_id, each.key as extension, sum(each.value::bigint) as counted,
         sum(sum(each.value::bigint)) over (partition by user_id) as total,
         row_number() over (
           partition by user_id order by sum(each.value::bigint) desc, each.key
         ) as place
       from push_count cross join lateral jsonb_each_text(extensions) as each
       where user_id = any(?)
       group by user_id, each.key
     ) as ranked
     where place <= ?
     order by user_id, place`,
    [[...userIds], extensionsMax],
  );
  return rows;
}
