import { z } from "zod";
import { mustNotBeReserved } from "../../../commands/core/reserved-alias.ts";
import {
  changeUserAlias,
  changeUserEmail,
  changeUserPassword,
  type UserChange,
} from "../../../commands/user/change-user.ts";
import { findUser, listUsers } from "../../../projections/user/user.ts";
import { mustBeAllowedEmail } from "../../access/email-rule.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { archivedPasswords, mustBeConfirmed, NewEmail, NewUsername } from "./account.ts";
import { mustBeFound, Password } from "./user.ts";
import { AdminUserView, adminUserView } from "./view.ts";

const tag = "Administration";
const common = { tag, scope: "USER_WRITE", access: "admin" } as const;

const Text = z.string().max(255).optional();

const getUsersAsAdministrator = route({
  ...common,
  method: "get",
  path: "/admin/user",
  operationId: "listUsersAsAdministrator",
  summary: "Find users by e-mail and alias",
  description: "`email` and `username` match the whole value without case; `q` matches parts.",
  query: z.object({
    email: Text.meta({ description: "The e-mail." }),
    username: Text.meta({ description: "The alias." }),
    q: Text.meta({ description: "Part of the e-mail or the alias." }),
  }),
  list: "restUserAdminModelList",
  reply: AdminUserView,
  errors: [404],
  handle: ({ query: { email, username: alias, q: part }, page }, { db }) =>
    listed(listUsers(db, { email, alias, part, ...page }), adminUserView),
});

const changing = { ...common, method: "put", reply: "empty" } as const;

const putUserEmail = route({
  ...changing,
  path: "/admin/user/{userAlias}/change-email",
  operationId: "changeUserEmail",
  notForApplications: true,
  summary: "Change a user's e-mail",
  body: NewEmail,
  async handle({ params, body, request }, deps) {
    const sides = await sidesOf(params.userAlias, request, deps);
    mustBeAllowedEmail(body.email, await deps.settings());
    const wanted = { email: body.email, confirmed: true };
    await request.executeProcess((metadata) =>
      changeUserEmail(commandDeps(deps), { ...sides, metadata }, wanted),
    );
  },
});

const putUserUsername = route({
  ...changing,
  path: "/admin/user/{userAlias}/change-username",
  operationId: "changeUserUsername",
  summary: "Change a user's alias",
  body: NewUsername,
  async handle({ params, body, request }, deps) {
    mustNotBeReserved(body.username, "username");
    const sides = await sidesOf(params.userAlias, request, deps);
    await request.executeProcess((metadata) =>
      changeUserAlias(commandDeps(deps), { ...sides, metadata }, body.username),
    );
  },
});

const putUserPassword = route({
  ...changing,
  path: "/admin/user/{userAlias}/change-password",
  operationId: "changeUserPassword",
  notForApplications: true,
  summary: "Change a user's password",
  body: z
    .object({ password: Password, passwordConfirm: z.string().max(512) })
    .meta({ id: "PasswordChange" }),
  async handle({ params, body, request }, deps) {
    mustBeConfirmed(body);
    const sides = await sidesOf(params.userAlias, request, deps);
    const wanted = { password: body.password, unlike: archivedPasswords(await deps.settings()) };
    await request.executeProcess((metadata) =>
      changeUserPassword(commandDeps(deps), { ...sides, metadata }, wanted),
    );
  },
});

/** Whose account is changed, and by whom. */
async function sidesOf(
  alias: string,
  { userId: by }: RequestFor<"admin">,
  { db }: Deps,
): Promise<Omit<UserChange, "metadata">> {
  return { userId: mustBeFound(await findUser(db, alias)).id, by };
}

export const userAdministrationRoutes: readonly Route[] = [
  getUsersAsAdministrator,
  putUserEmail,
  putUserPassword,
  putUserUsername,
];
