import { postAccessToken } from "./access-token.ts";
import { companyRoutes } from "./company.ts";
import { memberRoutes } from "./member.ts";
import {
  getOwnProjects,
  getProject,
  getProjectById,
  getPublicProjects,
  postProject,
} from "./project.ts";
import type { Route } from "./route.ts";
import { teamRoutes } from "./team.ts";
import { transferTeam } from "./team-transfer.ts";
import { getOwnUser, getUser, getUsers, postUser } from "./user.ts";
import { putOwnEmail, putOwnPassword, putOwnProfile, putOwnUsername } from "./user-account.ts";
import {
  getUsersAsAdministrator,
  putUserEmail,
  putUserPassword,
  putUserUsername,
} from "./user-administration.ts";
import { banUser, unbanUser } from "./user-ban.ts";
import { deleteFollow, getFollowers, getFollowing, postFollow } from "./user-follow.ts";
import { getUserProjects } from "./user-project.ts";

/** Every declared operation. What is not here does not exist: no route is mounted by hand. */
export const routes: readonly Route[] = [
  banUser,
  deleteFollow,
  getFollowers,
  getFollowing,
  getOwnProjects,
  getOwnUser,
  getProject,
  getProjectById,
  getPublicProjects,
  getUser,
  getUserProjects,
  getUsers,
  getUsersAsAdministrator,
  postAccessToken,
  postFollow,
  postProject,
  postUser,
  putOwnEmail,
  putOwnPassword,
  putOwnProfile,
  putOwnUsername,
  putUserEmail,
  putUserPassword,
  putUserUsername,
  transferTeam,
  unbanUser,
  ...companyRoutes,
  ...memberRoutes,
  ...teamRoutes,
];
