import type { Knex } from "knex";
import { z } from "zod";

import type { Part } from "../../../projections/list/list-rows.ts";
import { type PushedExtension, pushedExtensions } from "../../../projections/user/push-count.ts";
import { findUser, listUsers, type UserRow } from "../../../projections/user/user.ts";
import { PageInfo, pageInfo, pageQuery, pageRequest } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { mustBeFound } from "./user.ts";
import { UserView, userView } from "./view.ts";

const pageSize = 20;
const aliasesMax = 200;

const PushStats = z
  .object({
    pushStats: z.array(
      z
        .object({
          userSimple: UserView,
          pushedFileExtensions: z.array(
            z.object({
              fileExtension: z
                .string()
                .meta({ description: "With its dot; `.null` when there is none." }),
              percent: z.string().meta({ examples: ["62.50%"] }),
            }),
          ),
        })
        .meta({ id: "PushStatistics" }),
    ),
    page: PageInfo,
  })
  .meta({ id: "PushStatisticsPage" });

const common = {
  method: "get",
  tag: "Users",
  scope: "USER_WRITE",
  access: "admin",
  reply: PushStats,
} as const;

const description =
  "Of the commits that a user was the first to push to a project: in how many a file of the kind was " +
  "added or changed, as a part of all such counts. Pushes are counted shortly after they happened.";

const getPushStats = route({
  ...common,
  path: "/user/push-stats/all",
  operationId: "listPushStatistics",
  summary: "What kinds of files users push",
  description,
  query: pageQuery(pageSize),
  async handle({ query }, { db }) {
    const page = pageRequest(query);
    const { rows, total } = await listUsers(db, page);
    return viewOf(db, rows, total, page);
  },
});

/** Not checked as a new alias: an unknown one is not found. */
const Alias = z.string().max(nameLengthMax);

const getPushStatsOfUsers = route({
  ...common,
  path: "/user/push-stats/specified-users",
  operationId: "listPushStatisticsOfUsers",
  summary: "What kinds of files these users push",
  description,
  query: pageQuery(pageSize).extend({
    userAlias: z
      .union([Alias, z.array(Alias).max(aliasesMax)])
      .transform((aliases) => (typeof aliases === "string" ? [aliases] : aliases))
      .meta({ description: "May be given several times." }),
  }),
  errors: [404],
  async handle({ query }, { db }) {
    const found = await Promise.all(query.userAlias.map((alias) => findUser(db, alias)));
    const users = [...new Map(found.map(mustBeFound).map((user) => [user.id, user])).values()];
    const page = pageRequest(query);
    const shown = users.slice(page.offset, page.offset + page.limit);
    return viewOf(db, shown, users.length, page);
  },
});

async function viewOf(
  db: Knex,
  users: readonly UserRow[],
  totalElements: number,
  page: Part,
): Promise<z.input<typeof PushStats>> {
  const pushed = await pushedExtensions(
    db,
    users.map(({ id }) => id),
  );
  const pushStats = users.map((user) => ({
    userSimple: userView(user),
    pushedFileExtensions: pushed.filter((row) => row.user_id === user.id).map(extensionView),
  }));
  return { pushStats, page: pageInfo(page, totalElements) };
}

function extensionView({ extension, share }: PushedExtension) {
  return {
    fileExtension: `.${extension === "" ? "null" : extension}`,
    percent: `${(share * 100).toFixed(2)}%`,
  };
}

export const pushStatsRoutes: readonly Route[] = [getPushStats, getPushStatsOfUsers];
