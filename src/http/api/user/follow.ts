import { z } from "zod";
import { follow } from "../../../commands/user/follow.ts";
import { followPair } from "../../../events/user/follow.ts";
import {
  type FollowFilter,
  type FollowListRow,
  listFollows,
} from "../../../projections/user/follow.ts";
import { findUser } from "../../../projections/user/user.ts";
import type { Deps } from "../../core/deps.ts";
import { pageInfo, pageQuery, pageRequest } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { mustBeFound } from "./user.ts";
import { userView } from "./view.ts";

const tag = "Users";
const pageSize = 12;

const Follower = z
  .object({
    id: z.int().meta({ description: "A number of the user's own; stays the same." }),
    username: z.string(),
    name: z.string(),
    surname: z.string(),
    fullName: z.string(),
    avatar: z.string(),
    company: z.string().nullable(),
    createdAt: instant(),
    registrationDateString: z.string(),
    subscribed: z.boolean().meta({ description: "Whether the caller follows this user." }),
  })
  .meta({ id: "Follower" });

const Sort = z.object({ sorted: z.boolean(), unsorted: z.boolean(), empty: z.boolean() });

const FollowerPage = z
  .object({
    content: z.array(Follower),
    pageable: z.object({
      sort: Sort,
      offset: z.int(),
      pageNumber: z.int(),
      pageSize: z.int(),
      paged: z.boolean(),
      unpaged: z.boolean(),
    }),
    last: z.boolean(),
    first: z.boolean(),
    totalElements: z.int(),
    totalPages: z.int(),
    size: z.int(),
    number: z.int(),
    sort: Sort,
    numberOfElements: z.int(),
    empty: z.boolean(),
  })
  .meta({ id: "FollowerPage" });

const pages = {
  method: "get",
  tag,
  scope: "USER_READ",
  access: "user",
  query: pageQuery(pageSize),
  reply: FollowerPage,
} as const;

const getFollowers = route({
  ...pages,
  path: "/user/{userAlias}/followers",
  operationId: "listFollowers",
  summary: "List who follows a user",
  handle: ({ params, query, request }, deps) =>
    followPage(deps, request, params.userAlias, { side: "followers", query }),
});

const getFollowing = route({
  ...pages,
  path: "/user/following/{userAlias}",
  operationId: "listFollowing",
  summary: "List whom a user follows",
  handle: ({ params, query, request }, deps) =>
    followPage(deps, request, params.userAlias, { side: "following", query }),
});

const changes = {
  path: "/user/{userAlias}/follow",
  tag,
  scope: "USER_WRITE",
  access: "user",
  reply: "empty",
} as const;

const postFollow = route({
  ...changes,
  method: "post",
  operationId: "followUser",
  summary: "Follow a user",
  handle: ({ params, request }, deps) => change("FollowUser", params.userAlias, request, deps),
});

const deleteFollow = route({
  ...changes,
  method: "delete",
  operationId: "unfollowUser",
  summary: "Follow a user no more",
  handle: ({ params, request }, deps) => change("UnfollowUser", params.userAlias, request, deps),
});

async function change(
  type: "FollowUser" | "UnfollowUser",
  alias: string,
  request: RequestFor<"user">,
  { db, now }: Deps,
): Promise<void> {
  const followerId = request.userId;
  const { id: userId } = mustBeFound(await findUser(db, alias));
  const command = { type, followerId, userId, at: now().toISOString() } as const;
  await request.execute(follow, followPair(followerId, userId), command);
}

async function followPage(
  { db }: Deps,
  { userId: viewerId }: RequestFor<"user">,
  alias: string,
  list: Pick<FollowFilter, "side"> & Readonly<{ query: { page: number; size: number } }>,
): Promise<z.input<typeof FollowerPage>> {
  const { id: userId } = mustBeFound(await findUser(db, alias));
  const page = pageRequest(list.query);
  const { rows, total } = await listFollows(db, { side: list.side, userId, viewerId, ...page });
  const info = pageInfo(page, total);
  const { number, size, totalPages } = info;
  const sort = { sorted: false, unsorted: true, empty: true };
  return {
    content: rows.map(followerView),
    pageable: {
      sort,
      offset: page.offset,
      pageNumber: number,
      pageSize: size,
      paged: true,
      unpaged: false,
    },
    last: number >= totalPages - 1,
    first: number === 0,
    ...info,
    sort,
    numberOfElements: rows.length,
    empty: rows.length === 0,
  };
}

function followerView(row: FollowListRow): z.input<typeof Follower> {
  const { id: _, cover: __, ...named } = userView(row);
  return {
    ...named,
    id: numberOf(row.id),
    company: null,
    createdAt: row.created_at,
    registrationDateString: row.created_at.toISOString().slice(0, 10),
    subscribed: row.subscribed,
  };
}

/** The first 48 bits of the id, random in it: clients expect an integer here, and here alone. */
function numberOf(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

export const userFollowRoutes: readonly Route[] = [
  deleteFollow,
  getFollowers,
  getFollowing,
  postFollow,
];
