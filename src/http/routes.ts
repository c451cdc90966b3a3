import { postAccessToken } from "./access-token.ts";
import {
  getOwnProjects,
  getProject,
  getProjectById,
  getPublicProjects,
  postProject,
} from "./project.ts";
import type { Route } from "./route.ts";
import { getOwnUser, getUser, getUsers, postUser } from "./user.ts";
import { banUser, unbanUser } from "./user-ban.ts";

/** Every declared operation. What is not here does not exist: no route is mounted by hand. */
export const routes: readonly Route[] = [
  banUser,
  getOwnProjects,
  getOwnUser,
  getProject,
  getProjectById,
  getPublicProjects,
  getUser,
  getUsers,
  postAccessToken,
  postProject,
  postUser,
  unbanUser,
];
