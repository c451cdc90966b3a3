import type { Knex } from "knex";

import { pushCountEvents } from "../../events/user/push-count.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { tableOf } from "../core/writes.ts";

/** One row a push that counted for a user; the sums are computed at a query. */
type PushCountRow = Readonly<{
  project_id: string;
  repository_revision: number;
  user_id: string;
  extensions: Readonly<Record<string, number>>;
}>;

type PushTipRow = Readonly<{ project_id: string; commit_id: string }>;

const counts = tableOf<PushCountRow>({
  name: "push_count",
  key: ["project_id", "repository_revision"],
});
const counted = tableOf<PushTipRow>({ name: "push_tip", key: ["project_id", "commit_id"] });

export const pushCountProjection = defineRowProjection({
  name: "push_count",
  version: 2,
  tables: ["push_count", "push_tip"],
  async create(tx) {
    await tx.schema.createTable("push_count", (table) => {
      table.uuid("project_id").notNullable();
      table.bigInteger("repository_revision").notNullable();
      table.uuid("user_id").notNullable().index();
      table.jsonb("extensions").notNullable();
      table.primary(["project_id", "repository_revision"]);
    });
    await tx.schema.createTable("push_tip", (table) => {
      table.uuid("project_id").notNullable();
      table.text("commit_id").notNullable();
      table.primary(["project_id", "commit_id"]);
    });
  },
  events: { ...pushCountEvents, ...purgeEvents },
  handlers: {
    // What people pushed stays theirs.
    ProjectPurged: async (rows, { data }) =>
      dropRows(await rows.written(), data.projectId, { push_tip: "project_id" }),
    PushCounted: (rows, { data }) => {
      const { projectId: project_id, userId: user_id, repositoryRevision, tips, replaces } = data;
      if (user_id !== null) {
        const { extensions } = data;
        rows.put(counts, {
          project_id,
          repository_revision: repositoryRevision,
          user_id,
          extensions,
        });
      }
      for (const commit_id of tips) rows.put(counted, { project_id, commit_id });
      for (const commit_id of replaces) rows.remove(counted, { project_id, commit_id });
    },
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
