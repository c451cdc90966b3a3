import { z } from "zod";
import { mustNotBeReserved } from "../../../commands/core/reserved-alias.ts";
import { registerUser } from "../../../commands/user/register-user.ts";
import { Alias, UserId } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { looksLikeToken } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findUserById,
  findUserNamed,
  listUsers,
  type UserRow,
  userProjection,
} from "../../../projections/user/user.ts";
import { mustBeAllowedEmail } from "../../access/email-rule.ts";
import { commandDeps } from "../../core/command-deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { OwnUserView, UserView, userView } from "./view.ts";

const tag = "Users";

const reading = { method: "get", tag, scope: "USER_READ", access: "user" } as const;

const getUsers = route({
  ...reading,
  path: "/user",
  operationId: "listUsers",
  summary: "List users",
  list: "userList",
  reply: UserView,
  errors: [404],
  handle: ({ page }, { db }) => listed(listUsers(db, page), userView),
});

const getOwnUser = route({
  ...reading,
  path: "/user/me",
  operationId: "getOwnUser",
  summary: "Get the current user, with e-mail",
  asOf: { readModels: [userProjection], account: "caller" },
  reply: OwnUserView,
  errors: [404],
  async handle({ request }, { db }) {
    const row = mustBeFound(await findUserById(db, request.userId));
    return { ...userView(row), email: row.email ?? "" };
  },
});

const getUser = route({
  ...reading,
  path: "/user/{userAlias}",
  operationId: "getUser",
  summary: "Get a user",
  asOf: { readModels: [userProjection], account: { param: "userAlias" } },
  reply: UserView,
  async handle({ params }, { db }) {
    return userView(mustBeFound(await findUserNamed(db, params.userAlias)));
  },
});

export const Password = z
  .string()
  .min(8, "A password has at least 8 characters")
  .max(128, "A password has at most 128 characters")
  .refine((text) => !looksLikeToken(text), "A password does not begin like a token");

export const Email = z.string().trim().max(80).pipe(z.email("This is not an e-mail address"));

const postUser = route({
  method: "post",
  path: "/user",
  operationId: "createUser",
  summary: "Create a user",
  description: "For administrators. The e-mail counts as confirmed when the settings say so.",
  tag,
  scope: "USER_WRITE",
  access: "admin",
  body: z.object({ email: Email, password: Password, alias: Alias }).meta({ id: "NewUser" }),
  reply: UserView,
  async handle({ body, request }, deps) {
    const settings = await deps.settings();
    mustNotBeReserved(body.alias);
    mustBeAllowedEmail(body.email, settings);
    const userId = UserId.parse(deterministicId(request.commandId, "user"));
    const newUser = { ...body, userId, admin: false, confirmed: settings.userAutoConfirm };
    await request.executeProcess((metadata) => registerUser(commandDeps(deps), newUser, metadata));
    return userView(mustBeFound(await findUserById(deps.db, userId)));
  },
});

/** @throws Refusal `user.not_found`, also for a forgotten user. */
export function mustBeFound(row: UserRow | undefined): UserRow {
  if (row !== undefined && row.forgotten_at === null) return row;
  throw new Refusal("not_found", "user.not_found", "User not found.");
}

export const userRoutes: readonly Route[] = [getOwnUser, getUser, getUsers, postUser];
